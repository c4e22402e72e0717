import {
  agent,
  cache,
  ChatMessage,
  currentScope,
  retry,
  tool,
  ToolResult,
  type FunctionMiddleware,
  type Json,
} from "reeve";
import { type CacheOptions } from "#agents";
import { type Risk } from "#kernel";
import {
  call,
  manualModel,
  manualClock,
  say,
  scriptedModel,
  testRuntime,
  type ScriptedModel,
} from "reeve/testing";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import { MemoryCache } from "../../../src/agents/middleware/memory-cache.ts";
import { eventsOf } from "../events-of.ts";
import { waitUntil } from "../passing-time.ts";
import { broken, look, price } from "./models.ts";

const cachedAgent = (model: ScriptedModel, layer = cache(), version?: string) =>
  agent({ name: "worker", model, version, middleware: { chat: [layer] } });

test("3.5 a hit calls no model, reserves nothing and costs nothing", async () => {
  const model = scriptedModel([say("done")], { price });
  const worker = cachedAgent(model);
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ output: "done", costMicros: 15 });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "done", costMicros: 0 });
  expect((await t.events(run)).filter(({ type }) => /^(budget|model)\./.test(type))).toEqual([]);
  await t.run(worker, "something else");
  expect(model.requests).toHaveLength(2);
});

const layer = (options: CacheOptions = {}) => cache({ where: "store", ...options });

test("another tenant, agent version or cache version finds nothing", async () => {
  const model = scriptedModel([say("done")], { price });
  const store = memoryStore();
  const asks = async (
    layerOf: ReturnType<typeof cache>,
    tenant: string,
    version?: string,
  ): Promise<number> => {
    const before = model.requests.length;
    const worker = cachedAgent(model, layerOf, version);
    await using t = testRuntime({ agents: [worker], store });
    await t.run(worker, "go", { tenant });
    return model.requests.length - before;
  };
  expect(await asks(layer(), "acme")).toBe(1);
  expect(await asks(layer(), "acme")).toBe(0);
  expect(await asks(layer(), "globex")).toBe(1);
  expect(await asks(layer(), "acme", "2")).toBe(1);
  expect(await asks(layer({ version: "b" }), "acme")).toBe(1);
});

test.each([
  [{}, ["orders of ada", "orders of bob", "orders of null", "orders of ada"]],
  [{ share: "tenant" } as const, ["orders of ada", "orders of ada", "orders of ada", "orders of ada"]],
])(
  "a tool that reads its user answers each user with their own result: cache(%j)",
  async (options, expected) => {
    const orders = tool({
      name: "orders",
      description: "Lists the orders of the user",
      input: z.object({}),
      risk: "safe",
      execute: async () => `orders of ${currentScope()?.userId ?? null}`,
    });
    const users = ["ada", "bob", undefined, "ada"];
    const script = users.flatMap(() => [call("orders", {}), say("done")]);
    const model = scriptedModel([call("orders", {}), ...script.slice(1)]);
    const worker = agent({
      name: "worker",
      model,
      tools: [orders],
      middleware: { function: [cache(options)] },
    });
    await using t = testRuntime({ agents: [worker] });
    for (const user of users) await t.run(worker, "go", { tenant: "acme", ...(user && { user }) });
    const shown = model.requests.filter(({ messages }) => messages.at(-1)?.role === "tool");
    expect(shown.map(({ messages }) => /orders of \w+/.exec(JSON.stringify(messages.at(-1)))?.[0])).toEqual(
      expected,
    );
  },
);

test("a cached answer is not used after it expires", async () => {
  const clock = manualClock();
  const model = scriptedModel([say("done")], { price });
  const worker = cachedAgent(model, cache({ ttlS: 10 }));
  await using t = testRuntime({ agents: [worker], clock });
  for (const wait of [0, 9_999, 1]) {
    await clock.advance(wait);
    await t.run(worker, "go");
  }
  expect(model.requests).toHaveLength(2);
});

test("failures, refusals and truncated answers are never cached", async () => {
  const filtered = { message: ChatMessage.assistant("no"), finishReason: "content-filter" } as const;
  const length = { message: ChatMessage.assistant("half"), finishReason: "length" } as const;
  const model = scriptedModel([broken("overloaded"), filtered, length, say("done")], { price });
  const worker = agent({ name: "worker", model, retry: { maxRetries: 0 }, middleware: { chat: [cache()] } });
  await using t = testRuntime({ agents: [worker] });
  for (let n = 0; n < 5; n++) await t.run(worker, "go");
  expect(model.requests).toHaveLength(4);
});

test("an answer shortened by a budget is never cached", async () => {
  const model = scriptedModel([say("short")], { price, maxOutputTokens: 4_000 });
  const worker = cachedAgent(model);
  await using t = testRuntime({ agents: [worker] });
  for (let n = 0; n < 2; n++) await t.run(worker, "go", { budget: { maxTokens: 2_000 } });
  expect(model.requests).toHaveLength(2);
});

test("equal concurrent calls share one call; if it fails, the others make their own, all at once", async () => {
  const model = manualModel({ price });
  const worker = agent({ name: "worker", model, retry: { maxRetries: 0 }, middleware: { chat: [cache()] } });
  await using t = testRuntime({ agents: [worker] });
  const [one, other, third] = [
    await t.start(worker, "go"),
    await t.start(worker, "go"),
    await t.start(worker, "go"),
  ];
  await waitUntil(() => model.calls.length === 1);
  await one.cancel("user");
  expect(await one.result()).toMatchObject({ status: "cancelled" });
  await waitUntil(() => model.calls.length === 3);
  for (const made of model.calls.slice(1)) made.answer("done");
  const results = await Promise.all([other.result(), third.result()]);
  expect(results.map(({ output }) => output)).toEqual(["done", "done"]);
  expect(await t.run(worker, "go")).toMatchObject({ output: "done", costMicros: 0 });
  expect(model.calls).toHaveLength(3);
});

test("a caller that waits for another caller's equal call can be cancelled", async () => {
  const model = manualModel({ price });
  const worker = agent({ name: "worker", model, middleware: { chat: [cache()] } });
  await using t = testRuntime({ agents: [worker] });
  const one = await t.start(worker, "go");
  await waitUntil(() => model.calls.length === 1);
  const other = await t.start(worker, "go");
  await other.cancel("user");
  expect(await other.result()).toMatchObject({ status: "cancelled" });
  model.calls[0]?.answer("done");
  expect(await one.result()).toMatchObject({ status: "completed" });
});

test.each([
  ["safe", 1],
  ["high", 2],
] as const)("a tool of risk %s behind the cache is called %i times", async (risk: Risk, times) => {
  const seen: string[] = [];
  const model = scriptedModel([
    call("look", { question: "pump" }),
    call("look", { question: "pump" }),
    say("done"),
  ]);
  const tools = [look(seen, undefined, { risk })];
  const worker = agent({
    name: "worker",
    model,
    tools,
    permissions: "allow-all",
    middleware: { function: [cache()] },
  });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ output: "done" });
  expect(seen).toHaveLength(times);
  expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("found pump");
});

test("a failed tool result is not cached", async () => {
  const seen: string[] = [];
  const act = async (): Promise<string> => {
    if (seen.length === 1) throw new Error("not now");
    return "found";
  };
  const model = scriptedModel([
    call("look", { question: "a" }),
    call("look", { question: "a" }),
    say("done"),
  ]);
  const worker = agent({
    name: "worker",
    model,
    tools: [look(seen, act)],
    middleware: { function: [cache()] },
  });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  expect(seen).toHaveLength(2);

  const refuses: FunctionMiddleware = {
    async process(context, next) {
      await next();
      context.result = ToolResult.failure("refused");
    },
  };
  const again = agent({
    ...worker,
    model: scriptedModel([call("look", { question: "b" }), call("look", { question: "b" }), say("done")]),
    middleware: { function: [cache(), refuses] },
  });
  await using other = testRuntime({ agents: [again] });
  await other.run(again, "go");
  expect(seen).toHaveLength(4);
});

test("a cache around a retry keeps the final answer", async () => {
  const model = scriptedModel([broken("overloaded"), say("done")], { price });
  const chat = [cache(), retry({ baseMs: 1 })];
  const worker = agent({ name: "worker", model, middleware: { chat } });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ output: "done" });
  expect(eventsOf(await t.events(run), "retry.end")).toHaveLength(1);
  expect(await t.run(worker, "go")).toMatchObject({ output: "done", costMicros: 0 });
  expect(model.requests).toHaveLength(2);
});

test("the cache of a process is bounded by count and bytes, and keeps the entries used last", async () => {
  const clock = manualClock();
  const end = clock.now() + 9;
  const has = (lru: MemoryCache, ...keys: readonly string[]): readonly Json[] =>
    keys.map((key) => lru.get(key, clock) ?? null);
  const counted = new MemoryCache({ max: 2, maxBytes: 1_000 });
  counted.put("a", { value: 1, until: end });
  counted.put("b", { value: 2, until: end });
  counted.get("a", clock);
  counted.put("c", { value: 3, until: end });
  expect(has(counted, "a", "b", "c")).toEqual([1, null, 3]);
  const sized = new MemoryCache({ max: 9, maxBytes: 100 });
  sized.put("a", { value: "x".repeat(30), until: end });
  sized.put("b", { value: "y".repeat(30), until: end });
  sized.put("huge", { value: "z".repeat(99), until: end });
  expect(has(sized, "a", "b", "huge")).toEqual([null, "y".repeat(30), null]);
});
