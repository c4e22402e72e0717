import {
  agent,
  CostTracker,
  HookManager,
  RunLogger,
  tool,
  type Hooks,
  type NumberedEvent,
  ModelError,
} from "reeve";
import { type EventType, type ReeveEvent } from "#kernel";
import { call, fail, manualClock, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "./passing-time.ts";

const price = { input: 1_000_000, output: 1_000_000 };
const passing = new ModelError({ kind: "overloaded", message: "later", unbilled: true });
const tools = [true, false].map((idempotent) =>
  tool({
    name: idempotent ? "look" : "act",
    description: "Does something",
    input: z.object({}),
    risk: "safe",
    idempotent,
    execute: async () => "ok",
  }),
);
const nap = tool({
  name: "nap",
  description: "Naps",
  input: z.object({}),
  risk: "safe",
  run: async (ctx) => ctx.step("nap", () => "slept"),
});

/** Two cycles: a retry, three tools at once, an answer. */
function worker(hooks?: Hooks, name = "worker") {
  const model = scriptedModel([fail(passing), call("look", {}, ["act", {}], ["nap", {}]), say("done")], {
    price,
  });
  return agent({ name, model, tools: [...tools, nap], retry: { baseMs: 1 }, ...(hooks && { hooks }) });
}

const watched = [
  "run.start",
  "turn.start",
  "cycle.start",
  "model.start",
  "model.end",
  "retry.start",
  "retry.end",
  "tool.start",
  "tool.end",
  "cycle.end",
  "turn.end",
  "run.end",
] as const satisfies readonly EventType[];

/** Keeps every event it is shown. */
function camera(hooks = new HookManager()) {
  const seen: ReeveEvent[] = [];
  for (const type of watched) hooks.on(type, (event) => void seen.push(event));
  return { hooks, seen };
}

const counts = (events: readonly ReeveEvent[]): Readonly<Record<string, number>> =>
  Object.fromEntries(watched.map((type) => [type, events.filter((event) => event.type === type).length]));

/** The calls of tools that events speak of. */
const calls = (events: readonly ReeveEvent[]): readonly string[] =>
  events
    .flatMap((event) => (event.type === "tool.start" || event.type === "tool.end" ? [event.callId] : []))
    .toSorted();

const once = {
  "run.start": 1,
  "turn.start": 1,
  "cycle.start": 2,
  "model.start": 3,
  "model.end": 3,
  "retry.start": 1,
  "retry.end": 1,
  "tool.start": 3,
  "tool.end": 3,
  "cycle.end": 2,
  "turn.end": 1,
  "run.end": 1,
};

test.each([true, false])(
  "7.2 a callback runs once for each event and never on replay (replayed: %s)",
  async (replay) => {
    const { hooks, seen } = camera();
    const one = worker(hooks);
    await using t = testRuntime({ agents: [one], replay });
    const run = await t.start(one, "go");
    expect((await run.result()).output).toBe("done");
    await waitUntil(() => seen.some(({ type }) => type === "run.end"));
    expect(counts(seen)).toEqual(once);
    expect(counts(await t.events(run))).toEqual(once);
  },
);

test("7.2 payloads carry agent, time and attempt, and the same keys as the stream", async () => {
  const { hooks, seen } = camera();
  const one = worker(hooks);
  await using t = testRuntime({ agents: [one] });
  const run = await t.start(one, "go");
  const result = await run.result();
  await waitUntil(() => seen.some(({ type }) => type === "run.end"));
  const base = { eventId: expect.any(String), treeId: run.treeId, runId: run.runId, agent: "worker" };
  for (const event of seen) expect(event).toMatchObject({ ...base, at: expect.any(Number) });
  const streamed = await t.events(run);
  for (const type of watched) {
    const keys = (events: readonly ReeveEvent[]): readonly string[] =>
      Object.keys(events.find((event) => event.type === type) ?? {})
        .filter((key) => key !== "seq")
        .toSorted();
    expect([type, ...keys(seen)]).toEqual([type, ...keys(streamed)]);
  }
  expect(calls(seen)).toEqual(["call-1", "call-1", "call-2", "call-2", "call-3", "call-3"]);
  expect(calls(streamed)).toEqual(calls(seen));
  expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(seen.length);
  const { status, stopReason, usage, costMicros } = result;
  expect(seen.at(-1)).toMatchObject({ type: "run.end", status, stopReason, usage, costMicros });
});

test("7.3 a hook that throws, rejects or writes to its payload changes nothing but the error list", async () => {
  const hooks = new HookManager();
  hooks.on("model.start", () => {
    throw new Error("thrown");
  });
  hooks.on("model.start", async () => Promise.reject(new Error("rejected")));
  hooks.on("model.start", (event) => {
    Object.assign(event, { model: "another" });
  });
  hooks.on("model.end", ({ usage }) => {
    Object.assign(usage, { input: 0 });
  });
  const { seen } = camera(hooks);
  const one = worker(hooks);
  await using t = testRuntime({ agents: [one] });
  expect(await t.run(one, "go")).toMatchObject({ status: "completed", output: "done", costMicros: 30 });
  await waitUntil(() => seen.some(({ type }) => type === "run.end"));
  expect(counts(seen)).toEqual(once);
  expect(seen.find(({ type }) => type === "model.start")).toMatchObject({ model: "scripted" });
  expect(hooks.errors.filter(({ type }) => type === "model.start")).toHaveLength(9);
  expect(hooks.errors.filter(({ type }) => type === "model.end")).toHaveLength(3);
  expect(hooks.errors.map(({ error }) => error.message)).toEqual(
    expect.arrayContaining(["thrown", "rejected", expect.stringContaining("read only")]),
  );
});

test("7.3 a hook that hangs blocks nothing, and is reported after its timeout", async () => {
  const clock = manualClock();
  const hooks = new HookManager({ timeoutMs: 50, clock });
  hooks.on("run.start", () => new Promise(() => undefined));
  const { seen } = camera(hooks);
  const one = worker(hooks);
  await using t = testRuntime({ agents: [one] });
  expect((await t.run(one, "go")).status).toBe("completed");
  await waitUntil(() => seen.some(({ type }) => type === "run.end"));
  expect(hooks.errors).toEqual([]);
  await clock.advance(50);
  expect(hooks.errors).toMatchObject([
    { type: "run.start", error: { message: expect.stringContaining("50 ms") } },
  ]);
});

const event: NumberedEvent<"cycle.start"> = JSON.parse(
  '{"type":"cycle.start","step":1,"eventId":"e","treeId":"t","runId":"t~0","agent":"a","at":0,"attempt":null,"seq":1}',
);

test("7.3 all callbacks of an event run concurrently", async () => {
  const hooks = new HookManager();
  const meet = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  hooks.on("cycle.start", async () => {
    meet[0].resolve();
    await meet[1].promise;
  });
  hooks.on("cycle.start", async () => {
    meet[1].resolve();
    await meet[0].promise;
  });
  await hooks.dispatch(event);
  expect(hooks.errors).toEqual([]);
});

test("7.3 the payload is deeply frozen, and the error list is bounded", async () => {
  const hooks = new HookManager();
  const leave = hooks.on("cycle.start", (given) => {
    expect(Object.isFrozen(given)).toBe(true);
    throw new Error("again");
  });
  for (let n = 0; n < 130; n++) await hooks.dispatch(event);
  expect(hooks.errors).toHaveLength(100);
  leave();
  await hooks.dispatch({ ...event, step: 2 });
  expect(hooks.errors).toHaveLength(100);
});

test("7.3 a hook gets the events of its own agent only", async () => {
  const first = camera();
  const second = camera();
  const writer = worker(second.hooks, "writer");
  const model = scriptedModel([call("ask_writer", { task: "a" }), say("done")]);
  const lead = agent({ name: "lead", model, team: [writer], hooks: first.hooks });
  await using t = testRuntime({ agents: [lead, writer] });
  await t.run(lead, "go");
  await waitUntil(() => [first, second].every(({ seen }) => seen.some(({ type }) => type === "run.end")));
  expect(new Set(first.seen.map(({ agent: who }) => who))).toEqual(new Set(["lead"]));
  expect(new Set(second.seen.map(({ agent: who }) => who))).toEqual(new Set(["writer"]));
  expect(counts(second.seen)).toEqual(once);
});

test("CostTracker adds up the usage of calls, by run and in total", async () => {
  const lines: string[] = [];
  const costs = new CostTracker({ log: (line) => void lines.push(line) });
  const { hooks, seen } = camera();
  hooks.register(costs);
  const one = worker(hooks);
  await using t = testRuntime({ agents: [one] });
  const { runId, costMicros, usage } = await t.run(one, "go");
  await waitUntil(() => seen.some(({ type }) => type === "run.end"));
  expect(costs.costMicros).toBe(costMicros);
  expect(costs.usage).toMatchObject({ input: usage.input, output: usage.output });
  expect(costs.run(runId)).toMatchObject({ costMicros: 30, usage: { input: 20, output: 10 } });
  expect(costs.run("unknown")).toBeNull();
  expect(lines).toEqual([`worker ${runId} completed: 30 tokens, $0.00003; total $0.00003`]);
});

test("RunLogger keeps the latest events, up to its limit", async () => {
  const all = new RunLogger();
  const few = new RunLogger({ size: 3 });
  const hooks = new HookManager();
  hooks.register(all);
  hooks.register(few);
  const one = worker(hooks);
  await using t = testRuntime({ agents: [one] });
  const run = await t.start(one, "go");
  await run.result();
  await waitUntil(() => few.events.at(-1)?.type === "run.end");
  const stream = (await t.events(run)).map(({ type }) => type);
  expect(all.events.map(({ type }) => type).toSorted()).toEqual(stream.toSorted());
  expect(few.events).toEqual(all.events.slice(-3));
});

test("7.2 hooks receive budget events (reserved, settled, denied) and spawn events (admitted, queued)", async () => {
  const seen: ReeveEvent[] = [];
  const hooks = new HookManager();
  for (const type of [
    "budget.reserved",
    "budget.settled",
    "budget.denied",
    "spawn.admitted",
    "spawn.queued",
  ] as const)
    hooks.on(type, (heard) => void seen.push(heard));
  const writer = agent({ name: "writer", model: scriptedModel([say("helped")]) });
  const model = scriptedModel(
    [
      call("ask_writer", { task: "one" }, ["ask_writer", { task: "two" }]),
      say("enough", { input: 900, output: 5 }),
    ],
    { price },
  );
  const lead = agent({ name: "lead", model, team: [writer], hooks, maxOutputTokens: 100 });
  await using t = testRuntime({ agents: [lead, writer] });
  await t.run(lead, "go", { spawn: { maxAgents: 2 } });
  const [first] = seen;
  expect(seen.map(({ type }) => type)).toEqual([
    "budget.reserved",
    "budget.settled",
    "spawn.admitted",
    "spawn.queued",
    "spawn.admitted",
    "budget.reserved",
    "budget.settled",
  ]);
  expect(seen[1]).toMatchObject({ attempt: first?.attempt, tokens: 15, costMicros: 15, inDoubt: false });
  expect(seen.at(-1)).toMatchObject({ tokens: 905, inDoubt: false });
  expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(seen.length);
  const poor = agent({ name: "poor", model, hooks, budget: { maxTokens: 0 } });
  await using u = testRuntime({ agents: [poor] });
  await u.run(poor, "go");
  expect(seen.at(-1)).toMatchObject({ type: "budget.denied", dimension: "tokens", limit: 0 });
});
