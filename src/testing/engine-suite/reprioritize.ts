import assert from "node:assert/strict";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** Section 2.7: another rank for a run at work. */
export const reprioritizeCases: readonly EngineCase[] = [
  {
    name: "2.7 a run lowered below normal in a full tree is preempted: it finishes its call and parks",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const run = await spawner.spawn("a1 a2");
        const call = await spawner.call("a1");
        await run.reprioritize("low");
        assert.equal(await run.status(), "running");
        call.answer("A1");
        await reaches(run, "paused");
        assert.equal(spawner.wasAsked("a2"), false);
        const [changed] = only(await spawner.close(), "run.reprioritized");
        assert.deepEqual([changed?.runId, changed?.from, changed?.to], [run.runId, "normal", "low"]);
      });
    },
  },
  {
    name: "2.7 a run keeps its slot if there is room or if it is not lowered below normal",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        const [low, normal] = [await spawner.spawn("?low"), await spawner.spawn("n", { priority: "high" })];
        await Promise.all([reaches(low, "waiting"), spawner.call("n")]);
        await normal.reprioritize("normal");
        assert.deepEqual([await low.status(), await normal.status()], ["waiting", "running"]);
        (await spawner.call("n")).answer("N");
        await normal.result();
        await low.reprioritize("background");
        assert.equal(await low.status(), "waiting");
      });
    },
  },
  {
    name: "2.7 a run that was lowered is passed over until another release happens",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        const [lowered, other] = [await spawner.spawn("a1 a2"), await spawner.spawn("b")];
        const [first, second] = [await spawner.call("a1"), await spawner.call("b")];
        await lowered.reprioritize("low");
        first.answer("A1");
        await reaches(lowered, "paused");
        const third = await spawner.spawn("?c");
        await reaches(third, "waiting");
        assert.deepEqual([await lowered.status(), spawner.wasAsked("a2")], ["paused", false]);
        second.answer("B");
        await other.result();
        (await spawner.call("a2")).answer("A2");
        assert.deepEqual((await lowered.result()).output, ["A1", "A2"]);
      });
    },
  },
  {
    name: "2.7 a run that was lowered goes on when every other run waits for it, though one of them has heard of an end",
    async run(harness) {
      const worker = agentOf("worker", async (ctx) => {
        const word = await ctx.waitFor("go");
        // A step needs a slot.
        return ctx.step("repeat", () => word);
      });
      const quick = agentOf("quick", (ctx) => ctx.waitFor("end"));
      const middle = agentOf("middle", async (ctx) => {
        await ctx.waitFor("hire");
        return (await ctx.join(await ctx.spawn(worker, "work"))).output;
      });
      const lead = agentOf("lead", async (ctx) => {
        const hired = [await ctx.spawn(quick, "work"), await ctx.spawn(middle, "work")];
        return (await Promise.all(hired.map((run) => ctx.join(run)))).map(({ output }) => output);
      });
      await onRuntime(harness, { agents: [lead, quick, middle, worker] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 3 } });
        const started = async (agent: string): Promise<ReturnType<typeof runtime.run>> =>
          runtime.run((await waitForEvent(root, "run.start", (event) => event.agent === agent)).runId);
        const [first, second] = [await started("quick"), await started("middle")];
        await Promise.all([root, first, second].map((run) => reaches(run, "waiting")));
        await first.signal("end", "early");
        await first.result();
        await second.signal("hire", null);
        const lowered = await started("worker");
        await reaches(lowered, "waiting");
        await lowered.reprioritize("low");
        await lowered.signal("go", "late");
        assert.deepEqual((await root.result()).output, ["early", "late"]);
      });
    },
  },
  {
    name: "2.7 a run that was lowered and is raised to normal again resumes where there is room",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const run = await spawner.spawn("a1 a2");
        const call = await spawner.call("a1");
        await run.reprioritize("background");
        call.answer("A1");
        await reaches(run, "paused");
        await run.reprioritize("normal");
        (await spawner.call("a2")).answer("A2");
        assert.deepEqual((await run.result()).output, ["A1", "A2"]);
      });
    },
  },
  {
    name: "2.7 a preempted run raised to normal stays paused without room; raised above others it preempts",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("v1 v2", { priority: "low" });
        const call = await spawner.call("v1");
        const taker = await spawner.spawn("t1 t2", { priority: "high" });
        call.answer("V1");
        const taken = await spawner.call("t1");
        await victim.reprioritize("normal");
        assert.deepEqual([await victim.status(), spawner.wasAsked("v2")], ["paused", false]);
        await victim.reprioritize("critical");
        taken.answer("T1");
        (await spawner.call("v2")).answer("V2");
        assert.equal(spawner.wasAsked("t2"), false);
        (await spawner.call("t2")).answer("T2");
        assert.deepEqual((await taker.result()).output, ["T1", "T2"]);
        assert.deepEqual((await victim.result()).output, ["V1", "V2"]);
      });
    },
  },
  {
    name: "2.7 reprioritizing an unknown run has no effect",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        await spawner.runtime.run(`${spawner.root.treeId}~99`).reprioritize("high");
        const ended = await spawner.spawn("a");
        (await spawner.call("a")).answer("A");
        await ended.result();
        await ended.reprioritize("critical");
        assert.equal(await ended.status(), "completed");
        assert.deepEqual(only(await spawner.close(), "run.reprioritized"), []);
      });
    },
  },
  {
    name: "2.7 reprioritizing cannot pause the root",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 1 } }, async (spawner) => {
        await spawner.root.reprioritize("background");
        assert.notEqual(await spawner.root.status(), "paused");
        assert.equal((await spawner.expectDenied("a"))["reason"], "full");
      });
    },
  },
];
