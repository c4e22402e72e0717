import assert from "node:assert/strict";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** Sections 2.5 and 2.11: runs paused by a user, and the items kept for a paused run. */
export const holdCases: readonly EngineCase[] = [
  {
    name: "2.11 a held run finishes its call, parks and releases its slot; after resume it queues",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const run = await spawner.spawn("a1 a2");
        const call = await spawner.call("a1");
        await run.pause();
        const other = await spawner.spawn("b", { onFull: "wait" });
        assert.equal(await other.status(), "pending");
        call.answer("A1");
        const busy = await spawner.call("b");
        assert.equal(await run.status(), "paused");
        await run.resume();
        assert.deepEqual([await run.status(), spawner.wasAsked("a2")], ["paused", false]);
        busy.answer("B");
        (await spawner.call("a2")).answer("A2");
        assert.deepEqual((await run.result()).output, ["A1", "A2"]);
        const [paused] = only(await spawner.close(), "run.paused");
        assert.deepEqual([paused?.runId, paused?.cause], [run.runId, "held"]);
      });
    },
  },
  {
    name: "2.11 neither a free slot nor a raised priority resumes a held run",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        const [held, other] = [await spawner.spawn("?go a"), await spawner.spawn("b")];
        await reaches(held, "waiting");
        await held.pause();
        await held.signal("go");
        (await spawner.call("b")).answer("B");
        await other.result();
        await held.reprioritize("critical");
        assert.deepEqual([await held.status(), spawner.wasAsked("a")], ["paused", false]);
        await held.resume();
        await spawner.call("a");
      });
    },
  },
  {
    name: "2.11 pause holds the run and its subtree, resume lifts both",
    async run(harness) {
      const steps: string[] = [];
      const leaf = agentOf("leaf", async (ctx) => {
        await ctx.waitFor("go");
        await ctx.step("leaf", () => void steps.push("leaf"));
      });
      const middle = agentOf("middle", async (ctx) => void (await ctx.join(await ctx.spawn(leaf, "work"))));
      const lead = agentOf("lead", async (ctx) => void (await ctx.join(await ctx.spawn(middle, "work"))));
      await onRuntime(harness, { agents: [lead, middle, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const runOf = async (agent: string) =>
          runtime.run(
            (await waitForEvent(root, "spawn.admitted", ({ childAgent }) => childAgent === agent)).child,
          );
        const [upper, lower] = [await runOf("middle"), await runOf("leaf")];
        await Promise.all([root, upper, lower].map((run) => reaches(run, "waiting")));
        await upper.pause();
        const statuses = await Promise.all([upper, lower].map((run) => run.status()));
        assert.deepEqual(statuses, ["paused", "paused"]);
        assert.notEqual(await root.status(), "paused");
        await lower.signal("go");
        assert.deepEqual([await lower.status(), steps], ["paused", []]);
        await upper.resume();
        assert.equal((await root.result()).status, "completed");
        assert.deepEqual(steps, ["leaf"]);
      });
    },
  },
  {
    name: "2.11 a run that continues in a fresh execution while it is held continues its work after resume",
    async run(harness) {
      let isContinued = false;
      const steps: string[] = [];
      const leaf = agentOf("leaf", async (ctx) => ctx.waitFor("never"));
      const middle = agentOf("middle", async (ctx) => {
        if (ctx.state !== "again") {
          await ctx.join(await ctx.spawn(leaf, "work"));
          return ctx.continueAs("again");
        }
        isContinued = true;
        await ctx.step("again", () => void steps.push("again"));
        return "done";
      });
      const lead = agentOf("lead", async (ctx) => (await ctx.join(await ctx.spawn(middle, "work"))).output);
      await onRuntime(harness, { agents: [lead, middle, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const runOf = async (agent: string) =>
          runtime.run(
            (await waitForEvent(root, "spawn.admitted", ({ childAgent }) => childAgent === agent)).child,
          );
        const [upper, lower] = [await runOf("middle"), await runOf("leaf")];
        await Promise.all([root, upper, lower].map((run) => reaches(run, "waiting")));
        await upper.pause();
        await lower.cancel();
        await eventually("the fresh execution has begun", () => isContinued);
        assert.deepEqual([await upper.status(), steps], ["paused", []]);
        await upper.resume();
        assert.equal((await root.result()).output, "done");
        assert.deepEqual(steps, ["again"]);
      });
    },
  },
  {
    name: "2.11 pause on the root holds the tree; a held root keeps its slot",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const run = await spawner.spawn("?go a");
        await reaches(run, "waiting");
        await spawner.root.pause();
        assert.deepEqual([await spawner.root.status(), await run.status()], ["paused", "paused"]);
        await run.signal("go");
        const spawning = spawner.spawn("b", { onFull: "wait" });
        await eventually("the held root stays put", async () => (await spawner.root.status()) === "paused");
        assert.equal(spawner.wasAsked("a"), false);
        await spawner.root.resume();
        const second = await spawning;
        (await spawner.call("a")).answer("A");
        (await spawner.call("b")).answer("B");
        assert.deepEqual(
          [(await run.result()).status, (await second.result()).status],
          ["completed", "completed"],
        );
      });
    },
  },
  {
    name: "2.11 a held root's call in flight may end, and no other begins until it is resumed",
    async run(harness) {
      const done: string[] = [];
      const first = Promise.withResolvers<void>();
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("first", async () => {
          done.push("begun");
          await first.promise;
          done.push("first");
        });
        await ctx.step("second", () => void done.push("second"));
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        await eventually("the step is at work", () => done.length === 1);
        await root.pause();
        await root.send("something to wake it");
        first.resolve();
        await eventually("the step has ended", () => done.length > 1);
        assert.deepEqual([await root.status(), done], ["paused", ["begun", "first"]]);
        await root.resume();
        const events = await historyOf(root);
        assert.deepEqual(done, ["begun", "first", "second"]);
        assert.deepEqual(
          [only(events, "run.paused")[0]?.cause, only(events, "run.resumed")[0]?.cause],
          ["held", "released"],
        );
      });
    },
  },
  {
    name: "2.5 signals, steering and messages are kept for a paused run",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        await inbox.next();
        await ctx.waitFor("go");
        const signal = await ctx.waitFor("news");
        const message = await inbox.next();
        return [signal, message?.text ?? null, ...inbox.takeSteering().map(({ text }) => text)];
      });
      const lead = agentOf("lead", async (ctx) => (await ctx.join(await ctx.spawn(writer, "work"))).output);
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await reaches(run, "waiting");
        await run.pause();
        await run.signal("go");
        await run.signal("news", "a signal");
        await run.send("a message");
        await run.steer("to the left");
        assert.equal(await run.status(), "paused");
        await run.resume();
        assert.deepEqual((await root.result()).output, ["a signal", "a message", "to the left"]);
      });
    },
  },
  {
    name: "2.5 cancel wakes a paused run, and its end frees nothing",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const held = await spawner.spawn("?go");
        await reaches(held, "waiting");
        await held.pause();
        await spawner.spawn("b");
        await spawner.call("b");
        const { runs } = await held.cancel("enough");
        assert.deepEqual(
          runs.map(({ runId }) => runId),
          [held.runId],
        );
        assert.deepEqual([await held.status(), (await held.result()).stopReason], ["cancelled", "cancelled"]);
        assert.equal((await spawner.expectDenied("c"))["reason"], "full");
      });
    },
  },
];
