import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { agent, createRuntime, languageModel, Json } from "reeve";
import { isJsonObject, type JsonObject } from "#kernel";
import { expect, test } from "vitest";

/** A real package, its request caught in `fetch`. */
interface Wire {
  readonly model: (fetch: typeof globalThis.fetch) => Parameters<typeof languageModel>[0];
  /** Returns the maximum output tokens, from the sent body. */
  readonly limit: (body: JsonObject) => number;
  /** Option sets, each by its own namespace. */
  readonly sent: readonly JsonObject[];
  /** Options that are each refused. */
  readonly refused: readonly JsonObject[];
}

const key = { apiKey: "key" };
const think = (budgetTokens: number): JsonObject => ({ thinking: { type: "enabled", budgetTokens } });
const price = { input: 1_000_000, output: 5_000_000, cacheWrite: 2_000_000 };

const numberAt = (body: JsonObject, ...path: readonly string[]): number => {
  let value: Json | undefined = body;
  for (const name of path) value = isJsonObject(value) ? value[name] : undefined;
  return typeof value === "number" ? value : 0;
};
const chatLimit = (body: JsonObject): number => {
  const limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"].map((name) =>
    numberAt(body, name),
  );
  return Math.max(...limits) * Math.max(1, numberAt(body, "n"), numberAt(body, "best_of"));
};

const wires: Readonly<Record<string, Wire>> = {
  "openai chat": {
    model: (fetch) => createOpenAI({ ...key, fetch }).chat("gpt-4.1"),
    limit: chatLimit,
    sent: [
      {},
      { openai: { maxCompletionTokens: 100_000 } },
      { openai: { maxCompletionTokens: 50 } },
      { openai: { maxCompletionTokens: 100_000, reasoningEffort: "high", forceReasoning: true } },
      { openai: { serviceTier: "flex", user: "u", store: true, metadata: { a: "b" } } },
      { openai: { logprobs: 3, textVerbosity: "high", parallelToolCalls: false } },
      { openai: { maxCompletionTokens: 100_000 }, azure: { maxCompletionTokens: 200_000 } },
    ],
    refused: [
      { openai: { prediction: { type: "content", content: "x".repeat(1_000) } } },
      { openai: { serviceTier: "priority" } },
      { openai: { promptCacheOptions: { mode: "explicit" } } },
      { openai: { notYetKnown: 1 } },
      { openai: { user: "u", serviceTier: "ultrafast" } },
    ],
  },
  "openai responses": {
    model: (fetch) => createOpenAI({ ...key, fetch }).responses("gpt-5"),
    limit: chatLimit,
    sent: [
      {},
      { openai: { instructions: "y".repeat(2_000) } },
      { openai: { reasoningEffort: "high", reasoningSummary: "auto" } },
      { openai: { truncation: "auto", store: true } },
      { openai: { serviceTier: "default", textVerbosity: "low" } },
      { openai: { maxToolCalls: 3, parallelToolCalls: true } },
      { openai: { reasoningMode: "standard", reasoningContext: "auto" } },
    ],
    refused: [
      { openai: { previousResponseId: "resp_1" } },
      { openai: { conversation: "conv_1" } },
      { openai: { reasoningMode: "pro" } },
      { openai: { serviceTier: "fast" } },
      { openai: { contextManagement: [{ type: "compaction", compactThreshold: 1_000 }] } },
    ],
  },
  anthropic: {
    model: (fetch) => createAnthropic({ ...key, fetch })("claude-sonnet-4-5"),
    limit: (body) => numberAt(body, "max_tokens"),
    sent: [
      {},
      { anthropic: think(2_000) },
      { anthropic: think(30_000) },
      { anthropic: think(1_024), bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 1_024 } } },
      { bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 1_024 } }, anthropic: think(30_000) },
      { anthropic: { thinking: { type: "enabled" } } },
      { anthropic: { ...think(3_000), effort: "high", disableParallelToolUse: true } },
      { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } },
      { anthropic: { speed: "standard", inferenceGeo: "global", serviceTier: "standard" } },
    ],
    refused: [
      { anthropic: { speed: "fast" } },
      { anthropic: { mcpServers: [{ type: "url", name: "x", url: "http://x" }] } },
      { anthropic: { fallbacks: [{ model: "claude-opus-4-6", max_tokens: 64_000 }] } },
      { anthropic: { anthropicBeta: ["context-1m-2025-08-07"] } },
    ],
  },
  "openai-compatible": {
    model: (fetch) => createOpenAICompatible({ name: "custom", baseURL: "http://x/v1", fetch })("some"),
    limit: chatLimit,
    sent: [
      {},
      { custom: { max_tokens: 100_000 } },
      { custom: { max_tokens: 100_000, n: 8 } },
      { custom: { max_completion_tokens: 100_000, max_tokens: 10 } },
      { custom: { n: 3 } },
      { custom: { best_of: 4, max_output_tokens: 9_000 } },
      { custom: { max_tokens: "100000" } },
      { openaiCompatible: { user: "u", reasoningEffort: "high" }, custom: { n: 2, seed: 1 } },
    ],
    refused: [
      { custom: { n: "8" } },
      { custom: { model: "a-dearer-one" } },
      { custom: { plugins: [{ id: "web" }] } },
      { custom: { thinking_budget: 10_000 } },
      { custom: { service_tier: "priority" } },
    ],
  },
  google: {
    model: (fetch) => createGoogle({ ...key, fetch })("gemini-2.5-flash"),
    limit: (body) =>
      Math.max(
        numberAt(body, "generationConfig", "maxOutputTokens"),
        numberAt(body, "generationConfig", "thinkingConfig", "thinkingBudget"),
      ),
    sent: [
      {},
      { google: { thinkingConfig: { thinkingBudget: 24_000 } } },
      { google: { thinkingConfig: { thinkingBudget: -1, includeThoughts: true } } },
      { google: { thinkingConfig: { thinkingBudget: 100 }, structuredOutputs: true } },
      { google: { responseModalities: ["TEXT"], serviceTier: "flex" } },
      { google: { safetySettings: [], labels: { a: "b" } } },
    ],
    refused: [
      { google: { responseModalities: ["TEXT", "IMAGE"] } },
      { google: { cachedContent: "cachedContents/1" } },
      { google: { serviceTier: "priority" } },
      { google: { imageConfig: { imageSize: "4K" } } },
    ],
  },
};

const textOf = (options: JsonObject): string => JSON.stringify(options).slice(0, 90);

/** Lowers what most calls ask for. */
const tight = { maxTokens: 9_000, maxCostUsd: 0.05 };
/** Fits all of them. */
const ample = { maxTokens: 1_000_000, maxCostUsd: 5 };

/** Every set of options of one kind, with its wire and a cap. */
const combinationsOf = (kind: "sent" | "refused", cap: typeof tight) =>
  Object.entries(wires).flatMap(([name, wire]) =>
    wire[kind].map((options) => ({ name, wire, options, cap, text: textOf(options) })),
  );
const sent = [...combinationsOf("sent", tight), ...combinationsOf("sent", ample)];
const refused = combinationsOf("refused", tight);

/** Makes one call under a cap. Returns the reservation and the sent body. */
async function attempt(wire: Wire, options: JsonObject, budget: typeof tight) {
  const bodies: JsonObject[] = [];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(Json.as<JsonObject>(JSON.parse(typeof init?.body === "string" ? init.body : "")));
    const error = { message: "enough", type: "invalid_request_error", code: 400, status: "INVALID" };
    return Response.json({ error }, { status: 400 });
  };
  const model = languageModel(wire.model(fetch), { price, providerOptions: options });
  const lead = agent({ name: "lead", model, retry: { maxRetries: 0 } });
  await using runtime = createRuntime({ agents: [lead] });
  const run = await runtime.start(lead, "hello", { budget });
  const { error } = await run.result();
  const reserved: number[] = [];
  for await (const event of run.events()) if (event.type === "budget.reserved") reserved.push(event.tokens);
  return { bodies, reserved, error };
}

test("the table has at least 60 combinations that are sent and 20 that are refused", () => {
  expect(sent.length).toBeGreaterThanOrEqual(60);
  expect(refused.length).toBeGreaterThanOrEqual(20);
});

test.for(sent)(
  "$name $text under $cap.maxTokens tokens: the limit that is sent is not above the one that is reserved",
  async ({ wire, options, cap }) => {
    const { bodies, reserved } = await attempt(wire, options, cap);
    expect(bodies).toHaveLength(1);
    const [body = {}] = bodies;
    const limit = wire.limit(body);
    const instructions = typeof body["instructions"] === "string" ? body["instructions"].length : 0;
    expect(limit).toBeGreaterThan(0);
    expect(limit + "hello".length + instructions).toBeLessThanOrEqual(reserved[0] ?? 0);
  },
);

test("instructions that do not fit are not sent", async () => {
  const { "openai responses": wire } = wires;
  const options = { openai: { instructions: "y".repeat(200_000) } };
  const { bodies, error } = wire ? await attempt(wire, options, tight) : {};
  expect([bodies, error?.code]).toEqual([[], "budget-exhausted"]);
});

test.for(refused)(
  "$name $text: nothing is sent, and the refusal says which line allows it",
  async ({ wire, options, cap }) => {
    const { bodies, reserved, error } = await attempt(wire, options, cap);
    expect([bodies, reserved]).toEqual([[], []]);
    expect(error).toMatchObject({ code: "budget-exhausted", reason: "unbounded" });
    expect(error?.message).toMatch(/allow it with languageModel\(model, \{ allowOptions: \["[\w.]+"\] \}\)/);
  },
);
