import assert from "node:assert/strict";
import type { EngineCase } from "./harness.ts";
import { only, reaches } from "./history.ts";
import { inOffice } from "./office.ts";

/** Section 2.7: another rank for a run at work. */
export const reprioritizeCases: readonly EngineCase[] = [
  {
    name: "2.7 lowered below normal while full, a run is preempted: it finishes its call and parks",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        const run = await office.hire("a1 a2");
        const call = await office.call("a1");
        await run.reprioritize("low");
        assert.equal(await run.status(), "running");
        call.answer("A1");
        await reaches(run, "paused");
        assert.equal(office.wasAsked("a2"), false);
        const [changed] = only(await office.close(), "run.reprioritized");
        assert.deepEqual([changed?.runId, changed?.from, changed?.to], [run.runId, "normal", "low"]);
      });
    },
  },
  {
    name: "2.7 lowered below normal with room, or not below normal, a run keeps its slot",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 3 } }, async (office) => {
        const [low, normal] = [await office.hire("?low"), await office.hire("n", { priority: "high" })];
        await Promise.all([reaches(low, "waiting"), office.call("n")]);
        await normal.reprioritize("normal");
        assert.deepEqual([await low.status(), await normal.status()], ["waiting", "running"]);
        (await office.call("n")).answer("N");
        await normal.result();
        await low.reprioritize("background");
        assert.equal(await low.status(), "waiting");
      });
    },
  },
  {
    name: "2.7 a run that was lowered is passed over until another release happens",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 3 } }, async (office) => {
        const [lowered, other] = [await office.hire("a1 a2"), await office.hire("b")];
        const [first, second] = [await office.call("a1"), await office.call("b")];
        await lowered.reprioritize("low");
        first.answer("A1");
        await reaches(lowered, "paused");
        const third = await office.hire("?c");
        await reaches(third, "waiting");
        assert.deepEqual([await lowered.status(), office.wasAsked("a2")], ["paused", false]);
        second.answer("B");
        await other.result();
        (await office.call("a2")).answer("A2");
        assert.deepEqual((await lowered.result()).output, ["A1", "A2"]);
      });
    },
  },
  {
    name: "2.7 a run that was lowered and is raised to normal again resumes where there is room",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        const run = await office.hire("a1 a2");
        const call = await office.call("a1");
        await run.reprioritize("background");
        call.answer("A1");
        await reaches(run, "paused");
        await run.reprioritize("normal");
        (await office.call("a2")).answer("A2");
        assert.deepEqual((await run.result()).output, ["A1", "A2"]);
      });
    },
  },
  {
    name: "2.7 a preempted run raised to normal stays paused without room; raised above others it preempts",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        const victim = await office.hire("v1 v2", { priority: "low" });
        const call = await office.call("v1");
        const taker = await office.hire("t1 t2", { priority: "high" });
        call.answer("V1");
        const taken = await office.call("t1");
        await victim.reprioritize("normal");
        assert.deepEqual([await victim.status(), office.wasAsked("v2")], ["paused", false]);
        await victim.reprioritize("critical");
        taken.answer("T1");
        (await office.call("v2")).answer("V2");
        assert.equal(office.wasAsked("t2"), false);
        (await office.call("t2")).answer("T2");
        assert.deepEqual((await taker.result()).output, ["T1", "T2"]);
        assert.deepEqual((await victim.result()).output, ["V1", "V2"]);
      });
    },
  },
  {
    name: "2.7 an unknown run: no effect",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        await office.runtime.run(`${office.root.treeId}~99`).reprioritize("high");
        const ended = await office.hire("a");
        (await office.call("a")).answer("A");
        await ended.result();
        await ended.reprioritize("critical");
        assert.equal(await ended.status(), "completed");
        assert.deepEqual(only(await office.close(), "run.reprioritized"), []);
      });
    },
  },
  {
    name: "2.7 the root cannot be paused by it",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 1 } }, async (office) => {
        await office.root.reprioritize("background");
        assert.notEqual(await office.root.status(), "paused");
        assert.equal((await office.denied("a"))["reason"], "full");
      });
    },
  },
];
