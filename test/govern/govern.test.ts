import { AttemptId } from "reeve/store";
import { BudgetExhaustedError } from "reeve";
import { govern, type GovernEvent } from "reeve/govern";
import { expect, test } from "vitest";
import { fakeV3, fakeV4, finish } from "../models/fake-models.ts";

const prices = { "acme-1": { input: 1_000_000, output: 1_000_000 } };
const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Where is the pump?" }] }];
const said = [{ type: "text", text: "At the brook." }];
const called = [{ type: "tool-call", toolCallId: "1", toolName: "look", input: "{}" }];
const image = {
  type: "file" as const,
  mediaType: "image/png",
  data: { type: "data" as const, data: "aGk=" },
};

async function read<Part>(stream: ReadableStream<Part>): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

test("a governed model behaves like its model, in either version of the specification", async () => {
  const v4 = govern(fakeV4(said).model);
  const v3 = govern(fakeV3([{ type: "text", text: "At the brook." }]).model);
  expect(v4).toMatchObject({ specificationVersion: "v4", provider: "acme.chat", modelId: "acme-1" });
  expect(v3).toMatchObject({ specificationVersion: "v3", provider: "acme.chat", modelId: "acme-1" });
  expect((await v4.doGenerate({ prompt })).content).toEqual(said);
  expect((await v3.doGenerate({ prompt })).content).toEqual(said);
  expect(v4.account.spend).toMatchObject({ settled: { tokens: 15 }, reserved: { tokens: 0 }, turns: 1 });
});

test("a value that is not a model is refused with a hint", () => {
  const { model } = fakeV4([]);
  const old = Object.assign({}, model, { specificationVersion: "v2" });
  expect(() => govern(old)).toThrow(/v2 are not supported/);
});

test("without a limit a call is passed on unchanged", async () => {
  const { model, calls } = fakeV4(said);
  await govern(model).doGenerate({ prompt });
  expect(calls[0]).toEqual({ prompt });
});

test("under a limit a call gets at most the output that fits, and at least a floor", async () => {
  const { model, calls } = fakeV4(said);
  const governed = govern(model, { budget: { maxTokens: 250 } });
  await governed.doGenerate({ prompt, maxOutputTokens: 1_000 });
  const room = calls[0]?.maxOutputTokens ?? 0;
  expect(room).toBeGreaterThan(100);
  expect(room).toBeLessThan(250);
  await expect(
    govern(model, { budget: { maxTokens: 250 }, minOutputTokens: room + 1 }).doGenerate({ prompt }),
  ).rejects.toThrow(BudgetExhaustedError);
  expect(calls).toHaveLength(1);
});

test("a prompt counts by its bytes until its provider has counted it", async () => {
  const { model } = fakeV4(said);
  const reserved: number[] = [];
  const governed = govern(model, {
    onEvent: (event) => void (event.type === "budget.reserved" && reserved.push(event.tokens)),
  });
  const ask = (more: typeof prompt) =>
    governed.doGenerate({ prompt: [...prompt, ...more], maxOutputTokens: 100 });
  await ask([]);
  await ask([]);
  await ask(prompt);
  const bytes = JSON.stringify(prompt[0]).length + 16;
  expect(reserved).toEqual([bytes + 100, 10 + 100, 10 + bytes + 100]);
});

test("an answer cut by the budget loses its tool calls, streamed or not", async () => {
  const budget = { maxTokens: 250 };
  const answering = (reason: "length" | "tool-calls") => {
    const whole = govern(fakeV4(called, finish(reason)).model, { budget });
    const streamed = govern(fakeV4([...called, finish(reason)]).model, { budget });
    return { whole, streamed };
  };
  const cut = answering("length");
  expect((await cut.whole.doGenerate({ prompt })).content).toEqual([]);
  const short = await read((await cut.streamed.doStream({ prompt })).stream);
  expect(short.map(({ type }) => type)).toEqual(["finish"]);
  const done = answering("tool-calls");
  expect((await done.whole.doGenerate({ prompt })).content).toEqual(called);
  const long = await read((await done.streamed.doStream({ prompt })).stream);
  expect(long.map(({ type }) => type)).toEqual(["tool-call", "finish"]);
});

test("a model without a price is refused under a cost limit unless it is priced or allowed", async () => {
  const { model } = fakeV4(said);
  const budget = { maxCostUsd: 1 };
  await expect(govern(model, { budget }).doGenerate({ prompt })).rejects.toMatchObject({
    dimension: "cost",
    reason: "unpriced",
  });
  const priced = govern(model, { budget, prices });
  const allowed = govern(model, { budget, unpriced: "allow" });
  await priced.doGenerate({ prompt });
  await allowed.doGenerate({ prompt });
  expect([priced.account.spend.settled.costMicros, allowed.account.spend.settled.costMicros]).toEqual([
    15, 0,
  ]);
});

test.each([
  ["a file", { prompt: [{ role: "user" as const, content: [image] }] }],
  [
    "a tool of the provider",
    { tools: [{ type: "provider" as const, id: "acme.search" as const, name: "s", args: {} }] },
  ],
  ["a conversation that the provider keeps", { providerOptions: { acme: { previousResponseId: "1" } } }],
])("%s has no token bound and is refused under a limit unless allowed", async (_, more) => {
  const { model } = fakeV4(said);
  const budget = { maxTokens: 10_000 };
  await expect(govern(model, { budget }).doGenerate({ prompt, ...more })).rejects.toMatchObject({
    dimension: "tokens",
    reason: "unbounded",
  });
  await govern(model, { budget, unbounded: "allow" }).doGenerate({ prompt, ...more });
  await govern(model).doGenerate({ prompt, ...more });
});

test("thinking tokens that a package adds are reserved, and shrink with the output", async () => {
  const { model, calls } = fakeV4(said);
  const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } };
  const governed = govern(model, { budget: { maxTokens: 3_200 } });
  await governed.doGenerate({ prompt, providerOptions, maxOutputTokens: 500 });
  expect(calls[0]).toMatchObject({ maxOutputTokens: 500, providerOptions });
  await governed.doGenerate({ prompt, providerOptions, maxOutputTokens: 5_000 });
  const allowed = (calls[1]?.maxOutputTokens ?? 0) + 2_000;
  expect(allowed).toBeLessThan(3_200);
});

const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };

test("a prompt that is written to a cache is reserved at the price of writing", async () => {
  const reserved: number[] = [];
  const governed = govern(Object.assign(fakeV4(said).model, claude), {
    onEvent: (event) =>
      void (event.type === "budget.reserved" && reserved.push(event.costMicros / event.tokens)),
  });
  const text = prompt[0]?.content[0]?.text ?? "";
  const ask = (
    providerOptions: { anthropic: { cacheControl: { type: string; ttl?: string } } } | undefined,
  ) =>
    governed.doGenerate({
      prompt: [
        {
          role: "user",
          content: [{ type: "text", text: `${text} "cacheControl":` }],
          ...(providerOptions && { providerOptions }),
        },
      ],
      maxOutputTokens: 1,
    });
  await ask(undefined);
  await ask({ anthropic: { cacheControl: { type: "ephemeral" } } });
  await ask({ anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } });
  const [plain = 0, written = 0, hour = 0] = reserved;
  expect(written / plain).toBeGreaterThan(1.2);
  expect(hour / plain).toBeGreaterThan(1.8);
});

test("a named reasoning effort has no bound if the package adds it on top", async () => {
  const budget = { maxTokens: 10_000 };
  const governed = govern(Object.assign(fakeV4(said).model, claude), { budget });
  await expect(governed.doGenerate({ prompt, reasoning: "high" })).rejects.toMatchObject({
    reason: "unbounded",
  });
  await governed.doGenerate({ prompt, reasoning: "none" });
  await govern(fakeV4(said).model, { budget }).doGenerate({ prompt, reasoning: "high" });
});

test("an account of another copy of the package is refused, and not opened again", () => {
  const { name, budget, spend } = govern.account({});
  const foreign = { name, budget, spend, doubts: [], reconcile: () => false };
  expect(() => govern.run(foreign, () => 1)).toThrow("another copy");
});

test("a call is booked on all its accounts or on none", async () => {
  const governed = govern(fakeV4(said).model, { budget: { maxTokens: 1_000 } });
  await govern.run({ name: "outer", budget: { maxTokens: 500 } }, async (outer) => {
    await govern.run({ name: "inner", budget: { maxTurns: 1 } }, async (inner) => {
      await governed.doGenerate({ prompt });
      await expect(governed.doGenerate({ prompt })).rejects.toMatchObject({ dimension: "turns", limit: 1 });
      expect(inner.spend).toMatchObject({ settled: { tokens: 15 }, turns: 1 });
    });
    await governed.doGenerate({ prompt });
    expect(outer.spend).toMatchObject({ settled: { tokens: 30 }, reserved: { tokens: 0 }, turns: 2 });
  });
  expect(governed.account.spend).toMatchObject({ settled: { tokens: 30 }, turns: 2 });
});

test("an account can be shared between models and entered again", async () => {
  const tenant = govern.account({ name: "tenant", budget: { maxTurns: 2 } });
  const one = govern(fakeV4(said).model, { account: tenant });
  const other = govern(fakeV4(said).model);
  await one.doGenerate({ prompt });
  await govern.run(tenant, () => other.doGenerate({ prompt }));
  // Entered from inside as well, a call counts once.
  await expect(govern.run(tenant, () => one.doGenerate({ prompt }))).rejects.toMatchObject({ used: 2 });
});

test("two concurrent calls share the remaining budget", async () => {
  const { model, calls } = fakeV4([], finish("stop"), { answers: "never" });
  const governed = govern(model, { budget: { maxTokens: 300 } });
  void governed.doGenerate({ prompt, maxOutputTokens: 150 });
  const second = governed.doGenerate({ prompt, maxOutputTokens: 150 });
  await expect(second).rejects.toThrow(BudgetExhaustedError);
  expect(calls).toHaveLength(1);
});

test.each([
  ["is broken off", new Error("cut")],
  ["ends without its end", "end" as const],
  ["is given up", "cancel" as const],
])("a stream that %s stays in doubt until it is reconciled", async (_, how) => {
  const { model } = fakeV4(said, finish("stop"), { after: how instanceof Error ? how : "silence" });
  const ended = { ...model, doStream: async () => ({ stream: ReadableStream.from([]) }) };
  const governed = govern(how === "end" ? ended : model, { budget: { maxTokens: 1_000 } });
  const { stream } = await governed.doStream({ prompt, maxOutputTokens: 100 });
  if (how === "cancel") await stream.cancel();
  else await read(stream).catch(() => {});
  const [doubt] = governed.account.doubts;
  expect(governed.account.spend).toMatchObject({ inDoubt: doubt?.ceiling, reserved: { tokens: 0 } });
  const attempt = doubt?.attempt ?? AttemptId.of("none");
  expect(governed.account.reconcile(attempt, { input: -1, output: 5 })).toBe(false);
  expect(governed.account.reconcile(attempt, { input: 10, output: 5 })).toBe(true);
  expect(governed.account.reconcile(attempt, { input: 10, output: 5 })).toBe(false);
  expect(governed.account.spend).toMatchObject({ inDoubt: { tokens: 0 }, settled: { tokens: 15 } });
});

test("a call that was aborted before it began costs nothing", async () => {
  const { model, calls } = fakeV4(said);
  const governed = govern(model);
  const stopped = governed.doGenerate({ prompt, abortSignal: AbortSignal.abort(new Error("stopped")) });
  await expect(stopped).rejects.toThrow("stopped");
  expect(calls).toEqual([]);
  expect(governed.account.spend.turns).toBe(0);
});

test("events name their account and add up to its spend", async () => {
  const events: GovernEvent[] = [];
  const governed = govern(fakeV4(said).model, {
    name: "books",
    prices,
    budget: { maxTokens: 150 },
    onEvent: (event) => void events.push(event),
  });
  await governed.doGenerate({ prompt });
  await expect(governed.doGenerate({ prompt: [...prompt, ...prompt, ...prompt] })).rejects.toThrow(
    BudgetExhaustedError,
  );
  expect(events.map(({ type, account }) => [type, account])).toEqual([
    ["budget.warning", "books"],
    ["budget.reserved", "books"],
    ["budget.settled", "books"],
    ["budget.denied", "books"],
  ]);
  expect(events[2]).toMatchObject({ tokens: 15, costMicros: 15, inDoubt: false });
});
