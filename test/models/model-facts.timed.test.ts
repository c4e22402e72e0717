import { expect, test } from "vitest";
import { modelFacts, resolvePrice } from "#models";
import { cpuMs } from "../cpu-time.ts";
import { expectWithin } from "../effort.ts";

const openai = (id: string) => ({ id, provider: "openai.responses" });
const anthropic = (id: string) => ({ id, provider: "anthropic.messages" });

test("a price is whole micro-dollars for a million tokens", () => {
  expect(resolvePrice(openai("gpt-5"))).toEqual({
    input: 1_250_000,
    output: 10_000_000,
    cachedInput: 125_000,
  });
  expect(resolvePrice({ id: "deepseek-v4-flash", provider: "deepseek.chat" })?.cachedInput).toBe(14_000);
});

test.for(["claude-sonnet-5-5", "claude-sonnet-5-turbo", "claude-sonnet-4-5-mini-20250929", "claude-opus-99"])(
  "%s is another model than the prefix of its name, so its price is unknown",
  (id) => {
    expect(resolvePrice(anthropic(id))).toBeNull();
  },
);

test.for([
  ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
  ["claude-sonnet-5-20260301", "claude-sonnet-5"],
  ["claude-3-5-sonnet-latest", "claude-3-5-sonnet"],
] as const)("%s has the price of %s", ([dated, plain]) => {
  expect(resolvePrice(anthropic(dated))).not.toBeNull();
  expect(resolvePrice(anthropic(dated))).toEqual(resolvePrice(anthropic(plain)));
});

test.for([
  { id: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", provider: "amazon-bedrock", input: 3_300_000 },
  { id: "claude-sonnet-4-5@20250929", provider: "vertex.anthropic.messages", input: 3_000_000 },
  { id: "models/gemini-2.5-flash", provider: "google.generative-ai", input: 300_000 },
  { id: "anthropic/claude-opus-4.5", provider: "openrouter.chat", input: 5_000_000 },
  { id: "gpt-4o", provider: "azure.chat", input: 2_500_000 },
  { id: "ft:gpt-4o-2024-08-06:acme::1", provider: "openai.chat", input: 3_750_000 },
])("$provider $id is found under the name of the billing provider", ({ input, ...model }) => {
  expect(resolvePrice(model)?.input).toBe(input);
});

test.for([
  { id: "gpt-4o", provider: "my-proxy.chat" },
  { id: "gpt-4o", provider: "openai-proxy.chat" },
  { id: "gpt-4o" },
  { id: "sonar-pro", provider: "perplexity" },
  { id: "whisper-1", provider: "openai.chat" },
])("$provider $id has no price that covers a call", (model) => {
  expect(resolvePrice(model)).toBeNull();
});

test("tiers are kept, unless no prompt can reach them", () => {
  expect(resolvePrice(openai("gpt-5.4"))).toEqual({
    input: 2_500_000,
    output: 15_000_000,
    cachedInput: 250_000,
    tiers: [{ aboveInputTokens: 271_999, input: 5_000_000, output: 22_500_000, cachedInput: 500_000 }],
  });
  expect(resolvePrice(openai("gpt-5.4"), { longestPrompt: 200_000 })).toEqual({
    input: 2_500_000,
    output: 15_000_000,
    cachedInput: 250_000,
  });
});

test("writing to a cache counts where it happens by itself, and where it is asked for", () => {
  expect(resolvePrice(openai("gpt-6-sol"), { longestPrompt: 1_000 })?.cacheWrite).toBe(2_500_000);
  expect(resolvePrice(openai("gpt-6-sol"), { longestPrompt: 1_000, cacheWrites: "none" })).not.toHaveProperty(
    "cacheWrite",
  );
  const claude = anthropic("claude-sonnet-5");
  expect(resolvePrice(claude)).not.toHaveProperty("cacheWrite");
  expect(resolvePrice(claude, { cacheWrites: "5m" })?.cacheWrite).toBe(2_500_000);
  expect(resolvePrice(claude, { cacheWrites: "1h" })?.cacheWrite).toBe(4_000_000);
});

test("a price that changes counts from its day; hours of the day count at their highest", () => {
  expect(resolvePrice(openai("o3"))?.input).toBe(2_000_000);
  expect(resolvePrice(openai("o3"), { now: Date.parse("2025-06-01") })?.input).toBe(10_000_000);
  const flash = { id: "gemini-3.6-flash", provider: "google.generative-ai" };
  expect(resolvePrice(flash, { now: Date.parse("2026-11-15") })?.input).toBe(750_000);
  expect(resolvePrice(flash)?.input).toBe(1_500_000);
  const hourly = { id: "deepseek-v4-pro", provider: "deepseek.chat" };
  expect(resolvePrice(hourly)).toEqual({ input: 1_320_000, output: 3_960_000, cachedInput: 44_000 });
});

test("the user's prices override the list, by provider and id or by id", () => {
  const mine = { input: 1, output: 2 };
  const theirs = { input: 3, output: 4 };
  expect(resolvePrice(openai("gpt-5"), { overrides: { "gpt-5": mine } })).toBe(mine);
  expect(resolvePrice(openai("gpt-5"), { overrides: { "gpt-5": mine, "openai/gpt-5": theirs } })).toBe(
    theirs,
  );
  expect(resolvePrice({ id: "local" }, { overrides: { local: mine } })).toBe(mine);
  expect(resolvePrice(openai("gpt-5"), { overrides: { other: mine } })?.input).toBe(1_250_000);
});

test("the context window is returned if the list has it", () => {
  expect(modelFacts(openai("gpt-5")).contextWindow).toBe(400_000);
  expect(modelFacts(openai("unheard-of"))).toEqual({ price: null, contextWindow: null });
});

test("a model is looked up once", () => {
  const calls = 20_000;
  const ms = cpuMs(() => {
    for (let call = 0; call < calls; call++) resolvePrice(anthropic("claude-sonnet-4-5"));
  });
  expectWithin(0.05 * calls, ms);
});
