import { AgentId, createRuntime, type Agent, type FailureRecord } from "reeve";
import { local } from "reeve/engines/local";
import type { Engine } from "reeve/engine";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test, vi } from "vitest";

const writer: Agent = {
  id: AgentId.of("writer"),
  run: async (ctx) => {
    await ctx.emit("a note");
    return "done";
  },
};

/** A runtime whose clock moves only on request. */
function stage(over: (engine: Engine) => Engine = (engine) => engine) {
  const clock = manualClock();
  const store = memoryStore();
  const log: FailureRecord[] = [];
  const engine = over(local({ clock }));
  const agents = [writer];
  const runtime = createRuntime({ agents, engine, store, clock, log: (failure) => log.push(failure) });
  return { clock, store, log, runtime };
}

const refusal = (): Error =>
  Object.assign(new Error("column is_permanent does not exist"), { code: "42703" });

test("a store that refuses every event is behind, its failures are counted, and one a minute is logged", async () => {
  const { clock, store, log, runtime } = stage();
  await using _ = runtime;
  const append = vi.spyOn(store.events, "append").mockRejectedValue(refusal());
  const run = await runtime.start(writer, "go", { tenant: "acme", id: "books" });
  expect((await run.result()).status).toBe("completed");
  await clock.advance(5_000);
  expect(runtime.storeHealth).toEqual({
    lagMs: 5_000,
    failedWrites: append.mock.calls.length,
    reducedTrees: 0,
  });
  expect(runtime.lagMs).toBe(5_000);
  expect(log).toMatchObject([
    {
      tree: "books",
      run: null,
      agent: null,
      diagnostic: {
        source: "the writer of the store",
        name: "42703",
        message: expect.stringMatching(
          /^3 times in a row, for an order of \d+ ms ago: column is_permanent does not exist$/,
        ),
      },
    },
  ]);
  await clock.advance(54_000);
  expect(log).toHaveLength(1);
  await clock.advance(6_000);
  expect(log).toHaveLength(2);
  append.mockRestore();
  await clock.advance(1_000);
  expect(runtime.storeHealth).toEqual({ lagMs: 0, failedWrites: 0, reducedTrees: 0 });
  expect((await runtime.runs.list({ tenant: "acme" })).items).toMatchObject([{ treeId: "books" }]);
});

test("a store that does not answer is behind by the age of the oldest event it was given", async () => {
  const { clock, store, runtime } = stage();
  await using _ = runtime;
  const answer = Promise.withResolvers<void>();
  vi.spyOn(store.events, "append").mockImplementation(() => answer.promise);
  expect(runtime.storeHealth).toEqual({ lagMs: 0, failedWrites: 0, reducedTrees: 0 });
  const first = await runtime.start(writer, "go");
  await first.result();
  await clock.advance(20_000);
  const second = await runtime.start(writer, "go");
  await second.result();
  await clock.advance(1_000);
  expect(runtime.storeHealth).toEqual({ lagMs: 21_000, failedWrites: 0, reducedTrees: 0 });
  answer.resolve();
  await clock.advance(1);
  expect(runtime.lagMs).toBe(0);
});

test("a failure that the next try repairs is not logged", async () => {
  const { clock, store, log, runtime } = stage();
  await using _ = runtime;
  vi.spyOn(store.events, "append").mockRejectedValueOnce(refusal()).mockRejectedValueOnce(refusal());
  const run = await runtime.start(writer, "go");
  await run.result();
  await clock.advance(1_000);
  expect(runtime.storeHealth).toEqual({ lagMs: 0, failedWrites: 0, reducedTrees: 0 });
  expect(log).toEqual([]);
});

test("a schedule that cannot start its tree is logged, too", async () => {
  const { clock, log, runtime } = stage((engine) => ({
    ...engine,
    call: async (to, method, argument) => {
      if (to.type === "switches") throw refusal();
      return engine.call(to, method, argument);
    },
  }));
  await using _ = runtime;
  await runtime.schedules.set({ id: "nightly", cron: "0 3 * * *", agent: writer, input: "go" });
  await clock.advance(86_400_000);
  expect(log[0]).toMatchObject({
    run: null,
    diagnostic: { source: "the starter of a schedule", name: "42703" },
  });
});
