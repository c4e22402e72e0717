import { agent, AgentId, createRuntime, type Agent } from "reeve";
import { RuntimeClosedError } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { readAll } from "./read-all.ts";

const writer: Agent = { id: AgentId.of("writer"), run: async () => "done" };
const partition = { tenantId: null };

test("a runtime without a store lists its runs", async () => {
  await using runtime = createRuntime({ agents: [writer] });
  const run = await runtime.start(writer, "go", { id: "one" });
  await readAll(run.events());
  const { items } = await runtime.runs.list();
  expect(items).toMatchObject([{ runId: "one~0", agentId: "writer", status: "completed" }]);
});

test("the default store keeps no audit, and reading the audit names the remedy", async () => {
  await using runtime = createRuntime({ agents: [writer] });
  await (await runtime.start(writer, "go")).result();
  await expect(runtime.audit.verify()).rejects.toThrow(
    /^the audit needs a durable store: createRuntime\(\{ store \}\)$/,
  );
});

test("a memory store with a limit forgets the oldest finished trees, and nothing of the others", async () => {
  const store = memoryStore({ maxFinishedTrees: 2 });
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("ask_writer", { task: "go" }), say("done")]),
    team: [writer],
  });
  await using runtime = createRuntime({ agents: [lead], store });
  for (const id of ["one", "two", "three", "four"])
    await readAll((await runtime.start(lead, "go", { id })).events());
  const { items } = await runtime.runs.list();
  expect(new Set(items.map(({ treeId }) => treeId))).toEqual(new Set(["three", "four"]));
  const eventsOf = async (id: string): Promise<number> => {
    const treeId = runtime.run(id).treeId;
    return (await store.events.read(partition, treeId, { after: 0, limit: 100 })).length;
  };
  expect([await eventsOf("one"), await eventsOf("two")]).toEqual([0, 0]);
  expect(await eventsOf("three")).toBe(await eventsOf("four"));
  expect(await eventsOf("four")).toBeGreaterThan(5);
});

test("a memory store with a limit drops unnamed conversations with their trees, and keeps named ones", async () => {
  const store = memoryStore({ maxFinishedTrees: 1 });
  const researcher = agent({ name: "researcher", model: scriptedModel([say("hello")]) });
  await using runtime = createRuntime({ agents: [researcher], store });
  for (const options of [{ id: "one" }, { id: "two", session: "named" }, { id: "three" }])
    await readAll((await runtime.start(researcher, "go", options)).events());
  const { items } = await store.sessions.list(partition, { unnamed: true }, { size: 10 });
  const ids = items.map(({ id }) => id);
  expect(ids).toHaveLength(2);
  expect(ids).toContain("named");
  expect(ids.filter((id) => id.includes("one"))).toEqual([]);
});

test("waiting for a run fails when the runtime closes", async () => {
  const waits: Agent = { id: AgentId.of("waits"), run: (ctx) => ctx.waitFor("never") };
  const start = async (): Promise<unknown> => {
    await using runtime = createRuntime({ agents: [waits] });
    // The mistake: it is not awaited before the runtime is closed.
    return (await runtime.start(waits, "go")).result();
  };
  const message = "the runtime is closed: wait for its runs first, as in `return await run.result()`";
  await expect(start()).rejects.toThrow(new RuntimeClosedError());
  expect(new RuntimeClosedError().message).toBe(message);
});

test("reading the events of a run fails when the runtime closes", async () => {
  const waits: Agent = { id: AgentId.of("waits"), run: (ctx) => ctx.waitFor("never") };
  const runtime = createRuntime({ agents: [waits] });
  const run = await runtime.start(waits, "go");
  const read = readAll(run.events());
  await runtime[Symbol.asyncDispose]();
  await expect(read).rejects.toThrow(RuntimeClosedError);
});

test("a closed runtime starts nothing, and no caller waits for an idle conversation in it", async () => {
  const waits: Agent = { id: AgentId.of("waits"), run: (ctx) => ctx.waitFor("never") };
  const runtime = createRuntime({ agents: [waits], store: memoryStore() });
  const talk = await runtime.sessions.create(waits, { id: "talk" });
  await talk.start("go");
  const [idle, invoked] = [talk.waitForIdle(), talk.invoke("queued", { onBusy: "queue" })];
  const outcomes = Promise.allSettled([idle, invoked]);
  await runtime[Symbol.asyncDispose]();
  const reason = new RuntimeClosedError();
  expect(await outcomes).toEqual([
    { status: "rejected", reason },
    { status: "rejected", reason },
  ]);
  await expect(runtime.start(waits, "later")).rejects.toThrow(reason);
  await expect(talk.start("later")).rejects.toThrow(reason);
});

test("the result of a run that has ended can be read after the runtime was closed", async () => {
  const runtime = createRuntime({ agents: [writer] });
  const run = await runtime.start(writer, "go");
  await run.result();
  await runtime[Symbol.asyncDispose]();
  expect((await run.result()).output).toBe("done");
});
