import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { expect, onTestFinished, test, vi } from "vitest";
import { answers, type BillEntry, type FaultKind } from "../../src/testing/fake-provider/index.ts";
import { countTokens } from "../../src/testing/fake-provider/tokenizer.ts";
import { ask, failure, headers, openDouble, realModel, user } from "./real-providers.ts";

test("the bill has one entry for every request, whatever its outcome", async () => {
  const double = await openDouble({
    script: answers([
      { text: "One." },
      { fault: "rate-limit" },
      { text: "Three.", fault: "executed-then-reset" },
    ]),
  });
  const model = realModel("chat", double);
  await ask(model, "generate", { headers: headers("run-1", "a-1") });
  await failure(ask(model, "generate", { headers: headers("run-1", "a-2") }));
  await failure(ask(model, "stream", { headers: headers("run-2", "a-3") }));
  const entry = { wire: "openai-chat", model: "double-1" };
  expect(double.bill.entries).toMatchObject([
    {
      ...entry,
      run: "run-1",
      key: "a-1",
      outcome: "answered",
      billed: true,
      streamed: false,
      outputTokens: 2,
    },
    {
      ...entry,
      run: "run-1",
      key: "a-2",
      outcome: "rate-limit",
      billed: false,
      streamed: false,
      outputTokens: 0,
    },
    { ...entry, run: "run-2", key: "a-3", outcome: "executed-then-reset", billed: true, streamed: true },
  ]);
  expect(double.bill.total()).toMatchObject({ requests: 3, billed: 2 });
  expect(double.bill.total((line) => line.run === "run-1")).toMatchObject({ requests: 2, billed: 1 });
});

test("entries of the bill cannot be changed or removed", async () => {
  const double = await openDouble({ script: answers(["One."]) });
  await ask(realModel("chat", double), "generate");
  const before = double.bill.entries;
  expect(before.every((entry) => Object.isFrozen(entry))).toBe(true);
  Reflect.apply(Array.prototype.pop, before, []);
  await ask(realModel("chat", double), "generate");
  expect(double.bill.entries).toHaveLength(2);
  expect(before).toEqual([]);
});

test("the bill costs each call rounded up, the cached part at its own price", async () => {
  const double = await openDouble({
    hiddenTokensPerMessage: 0,
    script: answers([{ text: "One.", cachedTokens: 3 }, { text: "Two." }, { fault: "overloaded" }]),
  });
  const model = realModel("anthropic", double);
  await ask(model, "generate", { prompt: user("a b c d") });
  await ask(model, "generate", { prompt: user("a b c d") });
  await failure(ask(model, "generate"));
  const price = { input: 300_000, output: 1_500_000, cachedInput: 30_000 };
  const first = Math.ceil((1 * 300_000 + 3 * 30_000 + 2 * 1_500_000) / 1e6);
  const second = Math.ceil((4 * 300_000 + 2 * 1_500_000) / 1e6);
  expect([first, second]).toEqual([4, 5]);
  expect(double.bill.costMicros({ "double-1": price })).toBe(9);
  expect(double.bill.costMicros({ "double-1": price }, ({ cachedTokens }) => cachedTokens > 0)).toBe(4);
  expect(() => double.bill.costMicros({})).toThrow("no price for double-1");
});

test("the bill is also written to a file line by line, before the answer is sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "provider-double-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const billFile = join(folder, "bill.jsonl");
  const double = await openDouble({ script: answers(["One."]), billFile });
  await ask(realModel("chat", double), "generate");
  await ask(realModel("anthropic", double), "stream");
  const lines = readFileSync(billFile, "utf8").trimEnd().split("\n");
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual(double.bill.entries);
});

test("the bill includes a call that its client has abandoned", async () => {
  const answer = Promise.withResolvers<{ readonly text: string }>();
  const double = await openDouble({ script: () => answer.promise });
  const patience = new AbortController();
  const call = failure(ask(realModel("chat", double), "generate", { abortSignal: patience.signal }));
  await double.inFlight.reaches(1);
  patience.abort();
  await call;
  answer.resolve({ text: "Too late." });
  await vi.waitFor(() => expect(double.bill.total().billed).toBe(1));
});

test("the prompt cache matches the beginning of an earlier prompt in whole blocks", async () => {
  const double = await openDouble({
    script: answers(["Yes."]),
    hiddenTokensPerMessage: 0,
    promptCache: { minimumTokens: 20, blockTokens: 10 },
  });
  const model = realModel("chat", double);
  const begin = [
    { role: "system" as const, content: "The pump stands by the river. ".repeat(4) },
    ...user("Well?"),
  ];
  const grown = [
    ...begin,
    { role: "assistant" as const, content: [{ type: "text" as const, text: "Yes." }] },
  ];
  await ask(model, "generate", { prompt: begin });
  const second = await ask(model, "generate", { prompt: [...grown, ...user("Really?")] });
  await ask(realModel("chat", double, "other"), "generate", { prompt: begin });
  const [first] = double.bill.entries;
  const known = Math.floor((first?.inputTokens ?? 0) / 10) * 10;
  expect(double.bill.entries.map(({ cachedTokens }) => cachedTokens)).toEqual([0, known, 0]);
  expect(second.usage?.inputTokens.cacheRead).toBe(known);
});

test("a prompt cache with a key matches only prompts of that key", async () => {
  const double = await openDouble({
    script: answers(["Yes."]),
    hiddenTokensPerMessage: 0,
    promptCache: { minimumTokens: 20, blockTokens: 10 },
  });
  const prompt = user("The report has four parts and a summary. ".repeat(4));
  const model = realModel("chat", double);
  const call = (promptCacheKey: string) =>
    ask(model, "generate", { prompt, providerOptions: { openai: { promptCacheKey } } });
  for (const key of ["one", "two", "one"]) await call(key);
  expect(double.bill.entries.map(({ cachedTokens }) => cachedTokens > 0)).toEqual([false, false, true]);
});

test("Anthropic's prompt cache writes and reads at marks, and the bill has both at their prices", async () => {
  const double = await openDouble({
    script: answers(["Yes."]),
    hiddenTokensPerMessage: 0,
    promptCache: { minimumTokens: 20 },
  });
  const model = realModel("anthropic", double);
  const mark = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };
  const system = { role: "system" as const, content: "Be careful with every figure. ".repeat(6), ...mark };
  const [first] = user("Which year was the report written?");
  const [second] = user("And which month?");
  if (!first || !second) throw new Error("no messages");
  const answer = { role: "assistant" as const, content: [{ type: "text" as const, text: "1987." }] };
  const tokensOf = async (prompt: LanguageModelV4CallOptions["prompt"]): Promise<number> => {
    const { usage } = await ask(model, "generate", { prompt });
    return usage?.inputTokens.total ?? 0;
  };
  const short = await tokensOf([{ ...system, providerOptions: {} }, ...user("Well?")]);
  const unmarked = short - countTokens("Well?");
  const whole = await tokensOf([system, { ...first, ...mark }]);
  const grown = await tokensOf([system, first, answer, { ...second, ...mark }]);
  const other = await tokensOf([system, { ...second, ...mark }]);
  expect(double.bill.entries.map(({ cachedTokens, writtenTokens }) => [cachedTokens, writtenTokens])).toEqual(
    [
      [0, 0],
      [0, whole],
      [whole, grown - whole],
      [unmarked, other - unmarked],
    ],
  );
  const price = { input: 1_000_000, output: 0, cachedInput: 100_000, cacheWrite: 2_000_000 };
  const { cachedTokens, writtenTokens } = double.bill.total();
  expect([cachedTokens, writtenTokens]).toEqual([whole + unmarked, grown + other - unmarked]);
  const cost = short + Math.ceil(2 * whole) + Math.ceil(0.1 * whole + 2 * (grown - whole));
  expect(double.bill.costMicros({ "double-1": price })).toBe(
    cost + Math.ceil(0.1 * unmarked + 2 * (other - unmarked)),
  );
});

test("a request with five marks is refused", async () => {
  const double = await openDouble({ promptCache: {} });
  const block = { type: "text", text: "again", cache_control: { type: "ephemeral" } };
  const body = {
    model: "double-1",
    max_tokens: 9,
    messages: [{ role: "user", content: Array.from({ length: 5 }, () => block) }],
  };
  const response = await fetch(`${double.baseURL}/messages`, { method: "POST", body: JSON.stringify(body) });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("Found 5.")]);
});

const kinds: readonly FaultKind[] = [
  "rate-limit",
  "server-error",
  "cut",
  "executed-then-reset",
  "missing-usage",
];

async function run(seed: number, order: readonly number[]): Promise<readonly Omit<BillEntry, "at">[]> {
  const double = await openDouble({ seed, faults: { rate: 0.5, kinds } });
  const model = realModel("anthropic", double);
  for (const question of order) {
    const call = { prompt: user(`Question ${question}`), headers: headers("run", String(question)) };
    await ask(model, "generate", call).catch(() => null);
  }
  return double.bill.entries
    .map(({ at: _at, ...entry }) => entry)
    .toSorted((a, b) => Number(a.key) - Number(b.key));
}
const order = Array.from({ length: 24 }, (_, index) => index);

test("a seed gives the same bill for any order of requests, and another seed gives another bill", async () => {
  const first = await run(7, order);
  expect(await run(7, order.toReversed())).toEqual(first);
  expect(await run(8, order)).not.toEqual(first);
  const outcomes = new Set(first.map(({ outcome }) => outcome));
  expect(outcomes).toContain("answered");
  expect(outcomes.size).toBeGreaterThan(3);
});

test("the seed draws again for a retry of the same request", async () => {
  const outcomes = new Set(
    (
      await run(
        7,
        Array.from({ length: 16 }, () => 1),
      )
    ).map(({ outcome }) => outcome),
  );
  expect(outcomes.size).toBeGreaterThan(1);
});
