import { type Agent, AgentId, createRuntime, Json, type Runtime } from "reeve";
import { callTree, treeAddress } from "#tree";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { type HandleDeps, RunHandle } from "../../src/runtime/run-handle.ts";

/** Publishes the requested number of messages, and reads nothing else. */
const counter: Agent = {
  id: AgentId.of("counter"),
  run: async (ctx) => {
    const told = await ctx.waitFor("count");
    for (let n = 0; n < Number(told); n += 1) await ctx.emit({ n });
    return "counted";
  },
};

/** A runtime that counts how often trees are asked for events. */
function watchedRuntime(): { readonly runtime: Runtime; readonly countRequests: () => number } {
  const engine = local();
  let asked = 0;
  const counting: typeof engine = {
    ...engine,
    call: (to, method, argument) => {
      if (method === "events") asked += 1;
      return engine.call(to, method, argument);
    },
  };
  const runtime = createRuntime({ agents: [counter], engine: counting, store: memoryStore() });
  return { runtime, countRequests: () => asked };
}

test("a subscriber asks a tree whether it has ended only when it may have", async () => {
  const { runtime, countRequests } = watchedRuntime();
  await using _ = runtime;
  const run = await runtime.start(counter, "count");
  const types: string[] = [];
  for await (const { type } of run.events()) {
    if (type === "run.start") await run.signal("count", 300);
    types.push(type);
  }
  expect(types.at(-1)).toBe("run.end");
  expect(types.filter((type) => type === "progress.emitted").length).toBe(300);
  // Before the store has anything, and after the end of the root.
  expect(countRequests()).toBeLessThanOrEqual(2);
  const again: number[] = [];
  for await (const { seq } of run.events({ from: types.length - 1 })) again.push(seq);
  expect(again).toEqual([types.length]);
});

test("a reader gets the events after the end of a tree's last run", async () => {
  const { runtime } = watchedRuntime();
  await using _ = runtime;
  const run = await runtime.start(counter, "count");
  const types: string[] = [];
  for await (const { type } of run.events()) {
    types.push(type);
    if (type !== "run.start") continue;
    await run.steer("never read");
    await run.signal("count", 1);
  }
  expect(types.slice(-2)).toEqual(["run.end", "message.dead-lettered"]);
});

test("a watch of a missing or silent tree ends with its signal", async () => {
  const { runtime, countRequests } = watchedRuntime();
  await using _ = runtime;
  const stop = new AbortController();
  const watching = runtime.run("later").events({ signal: stop.signal });
  const first = watching.next();
  await expect.poll(countRequests).toBe(1);
  await runtime.start(counter, "count", { id: "later" });
  expect((await first).value).toMatchObject({ treeId: "later", seq: 1 });
  stop.abort(new Error("enough"));
  const drain = async (): Promise<void> => {
    while (!(await watching.next()).done);
  };
  await expect(drain()).rejects.toThrow("enough");
});

test("a reader without a store is told about events that only the store has", async () => {
  const engine = local();
  const talker: Agent = {
    id: AgentId.of("talker"),
    run: async (ctx) => {
      for (let number = 0; number < 1_200; number++) await ctx.emit(number);
      return ctx.waitFor("end");
    },
  };
  await using runtime = createRuntime({ agents: [talker], engine, store: memoryStore() });
  const run = await runtime.start(talker, "go");
  const address = treeAddress(run.treeId, undefined);
  const isFirstGone = async (): Promise<boolean> => {
    const reply = await callTree((...call) => engine.call(address, ...call), "events", {
      after: 0,
      limit: 1,
    });
    return reply.events[0]?.seq !== 1;
  };
  await expect.poll(isFirstGone).toBe(true);
  const { signal: closed } = new AbortController();
  const deps = Json.as<HandleDeps>(Object({ engine, store: null, closed, now: Date.now }));
  const { treeId, runId } = run;
  const reader = new RunHandle(deps, address, { treeId, runId, execution: null });
  await expect(reader.events().next()).rejects.toThrow(/event 1 of this tree is in the store only/);
  const all: number[] = [];
  await run.signal("end");
  for await (const { seq } of run.events()) all.push(seq);
  expect(all).toEqual(Array.from({ length: all.length }, (_, index) => index + 1));
  expect(all.length).toBeGreaterThan(1_200);
});
