import { local } from "#engines/local";
import { AgentId, createRuntime, Runtime, type Agent, type NumberedEvent } from "reeve";
import { type Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";

const writer: Agent = {
  id: AgentId.of("writer"),
  run: async (ctx) => {
    for (let step = 0; step < 20; step++) await ctx.emit(step);
    return "helped";
  },
};
const lead: Agent = {
  id: AgentId.of("lead"),
  run: async (ctx) => {
    const writers = await Promise.all([1, 2, 3].map((n) => ctx.spawn(writer, `part ${n}`)));
    await Promise.all(writers.map((each) => ctx.join(each)));
    return "done";
  },
};

async function collect(events: AsyncIterable<NumberedEvent>): Promise<readonly NumberedEvent[]> {
  const all: NumberedEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test("the store has a tree's events in order, once, and a reader ends with the tree", async () => {
  const store = memoryStore();
  await using runtime = createRuntime({ agents: [lead, writer], store });
  const run = await runtime.start(lead, "go", { user: "ada", tenant: "acme" });
  const [early, late] = await Promise.all([collect(run.events()), collect(run.events({ from: 10 }))]);
  expect(early.map(({ seq }) => seq)).toEqual(Array.from({ length: early.length }, (_, index) => index + 1));
  expect(late).toEqual(early.slice(10));
  expect(early.filter(({ type }) => type === "run.end")).toHaveLength(4);
  expect(await store.events.read({ tenantId: null }, run.treeId, { after: 0, limit: 10 })).toEqual([]);
  expect(runtime.lagMs).toBeGreaterThanOrEqual(0);
});

test("runs are listed with their current state, newest first, by tenant and filter", async () => {
  await using runtime = createRuntime({ agents: [lead, writer], store: memoryStore() });
  const run = await runtime.start(lead, "go", { tenant: "acme", user: "ada", session: "talk" });
  const { costMicros } = await run.result();
  await collect(run.events());
  const { items } = await runtime.runs.list({ tenant: "acme", rootsOnly: true });
  expect(items).toMatchObject([
    {
      runId: run.runId,
      agentId: "lead",
      status: "completed",
      stopReason: "answer",
      userId: "ada",
      costMicros,
    },
  ]);
  expect((await runtime.runs.list({ tenant: "acme", agentType: "writer" })).items).toHaveLength(3);
  expect((await runtime.runs.list()).items).toEqual([]);
  const tree = await runtime.runs.tree(run.treeId, { tenant: "acme" });
  expect(tree.map(({ parentRunId }) => parentRunId)).toEqual([null, run.runId, run.runId, run.runId]);
});

test("a store that fails temporarily still gets every event", async () => {
  const store = memoryStore();
  let calls = 0;
  const append: Store["events"]["append"] = async (...given) => {
    calls += 1;
    if (calls % 3 !== 0) throw new Error("the database is away");
    await store.events.append(...given);
    // Written, but the answer is lost: it is written again.
    if (calls % 2 === 0) throw new Error("the connection was lost");
  };
  const flaky: Store = { ...store, events: { ...bound(store.events), append } };
  await using runtime = createRuntime({ agents: [lead, writer], store: flaky });
  const run = await runtime.start(lead, "go");
  const events = await collect(run.events());
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: "run.end", runId: run.runId });
  expect(calls).toBeGreaterThan(2);
});

test("a store that lags shows the same order later", async () => {
  const store = memoryStore();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const append: Store["events"]["append"] = async (...given) => {
    await released;
    await store.events.append(...given);
  };
  await using runtime = createRuntime({
    agents: [lead, writer],
    store: { ...store, events: { ...bound(store.events), append } },
  });
  const run = await runtime.start(lead, "go");
  const reading = collect(run.events());
  expect((await run.result()).output).toBe("done");
  expect(await store.events.read({ tenantId: null }, run.treeId, { after: 0, limit: 1 })).toEqual([]);
  release();
  const events = await reading;
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: "run.end", runId: run.runId });
});

test("lists and the audit require a store, and the error names it", async () => {
  await using runtime = new Runtime({ agents: [lead, writer], engine: local() });
  expect(() => runtime.runs.list()).toThrow("lists need a store");
  expect(() => runtime.audit.read()).toThrow("the audit needs a store");
  await expect(runtime.audit.verify()).rejects.toThrow("the audit needs a store");
});

/** Returns the bound methods of one part of a store. */
function bound(events: Store["events"]): Store["events"] {
  return {
    append: (...given) => events.append(...given),
    rewrite: (...given) => events.rewrite(...given),
    read: (...given) => events.read(...given),
    waitForEvents: (...given) => events.waitForEvents(...given),
    changes: (...given) => events.changes(...given),
  };
}
