import assert from "node:assert/strict";
import { BudgetExhaustedError, RunId, type Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

const reasonOf = (error: unknown): Json =>
  error instanceof BudgetExhaustedError ? error.reason : "another error";

/** Section 2.12: places in a line that never moves. */
export const deadlockCases: readonly EngineCase[] = [
  {
    name: "2.12 waiting for a slot with maxAgents 1 is denied at once, with reason would-deadlock",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 1 } }, async (spawner) => {
        const error = await spawner.expectDenied("a", { onFull: "wait" });
        assert.deepEqual([error["dimension"], error["reason"]], ["agents", "would-deadlock"]);
      });
    },
  },
  {
    name: "2.12 a request that every live run would wait for is denied at once with reason would-deadlock",
    async run(harness) {
      const leaf = agentOf("leaf", async () => "leaf");
      const middle = agentOf("middle", async (ctx) => {
        await ctx.waitFor("go");
        return ctx.spawn(leaf, "work", { onFull: "wait" }).then(() => "spawned", reasonOf);
      });
      const lead = agentOf("lead", async (ctx) => (await ctx.join(await ctx.spawn(middle, "work"))).output);
      await onRuntime(harness, { agents: [lead, middle, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        const { child } = await waitForEvent(root, "spawn.admitted");
        await reaches(root, "waiting");
        await runtime.run(child).signal("go");
        assert.equal((await root.result()).output, "would-deadlock");
      });
    },
  },
  {
    name: "2.12 a run that knows of one child's end and waits for another does not hide a deadlock",
    async run(harness) {
      const leaf = agentOf("leaf", async () => "leaf");
      const deep = agentOf("deep", (ctx) =>
        ctx
          .spawn(leaf, "work", { onFull: "wait" })
          .then(async (handle) => String((await ctx.join(handle)).error?.["reason"]), reasonOf),
      );
      const quick = agentOf("quick", (ctx) => ctx.waitFor("end"));
      const middle = agentOf("middle", async (ctx) => {
        await ctx.waitFor("go");
        return (await ctx.join(await ctx.spawn(deep, "work"))).output;
      });
      const lead = agentOf("lead", async (ctx) => {
        const handles = [await ctx.spawn(quick, "work"), await ctx.spawn(middle, "work")];
        const [, last] = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return last?.output ?? null;
      });
      await onRuntime(harness, { agents: [lead, quick, middle, deep, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 3 } });
        await reaches(root, "waiting");
        const [first, second] = [1, 2].map((number) => runtime.run(RunId.of(root.treeId, number)));
        await first?.signal("end");
        await first?.result();
        await reaches(root, "waiting");
        await second?.signal("go");
        assert.equal((await root.result()).output, "would-deadlock");
      });
    },
  },
  {
    name: "2.12 the runs of a deadlocked queue fail with reason would-deadlock",
    async run(harness) {
      const leaf = agentOf("leaf", async () => "leaf");
      const middle = agentOf("middle", async (ctx) => {
        const { status, stopReason, error } = await ctx.join(
          await ctx.spawn(leaf, "work", { onFull: "wait" }),
        );
        return [status, stopReason, error?.["reason"] === "would-deadlock"];
      });
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(middle, "work");
        await ctx.waitFor("go");
        return (await ctx.join(handle)).output;
      });
      await onRuntime(harness, { agents: [lead, middle, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        const { child: waiting } = await waitForEvent(root, "spawn.admitted");
        const { child: queued } = await waitForEvent(root, "spawn.queued");
        await reaches(runtime.run(waiting), "waiting");
        assert.equal(await runtime.run(queued).status(), "pending");
        await root.signal("go");
        assert.deepEqual((await root.result()).output, ["failed", "budget.agents", true]);
      });
    },
  },
  {
    name: "2.12 a run queues if any other run can still end",
    async run(harness) {
      const leaf = agentOf("leaf", async () => "leaf");
      const other = agentOf("other", async (ctx) => ctx.waitFor("go"));
      const middle = agentOf("middle", async (ctx) => {
        await ctx.waitFor("go");
        return (await ctx.join(await ctx.spawn(leaf, "work", { onFull: "wait" }))).output;
      });
      const lead = agentOf("lead", async (ctx) => {
        const handles = [await ctx.spawn(middle, "work"), await ctx.spawn(other, "work")];
        const [result] = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return result?.output ?? null;
      });
      await onRuntime(harness, { agents: [lead, middle, other, leaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 3 } });
        const admitted = await waitForEvent(
          root,
          "spawn.admitted",
          ({ childAgent }) => childAgent === middle.id,
        );
        const second = await waitForEvent(
          root,
          "spawn.admitted",
          ({ childAgent }) => childAgent === other.id,
        );
        await reaches(root, "waiting");
        await runtime.run(admitted.child).signal("go");
        await waitForEvent(root, "spawn.queued");
        await runtime.run(second.child).signal("go");
        assert.equal((await root.result()).output, "leaf");
      });
    },
  },
];
