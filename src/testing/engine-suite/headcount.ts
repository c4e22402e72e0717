import assert from "node:assert/strict";
import { BudgetExhaustedError, type ErrorData, type Json, type Priority } from "#kernel";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** The expected error of a denial. */
const denial = (limit: number, reason: string): Partial<ErrorData> => ({
  code: "budget-exhausted",
  dimension: "agents",
  limit,
  used: limit,
  reason,
});

function assertDenied(error: ErrorData, limit: number, reason: string): void {
  const { message: _, retryable: _retryable, ...fields } = error;
  assert.deepEqual(fields, denial(limit, reason));
}

/** Sections 2.1 to 2.3, 2.6, 2.9 and 2.10: who gets a slot, and when it is free again. */
export const headcountCases: readonly EngineCase[] = [
  {
    name: "2.1 the root counts 1: maxAgents 1 allows no child of any priority",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 1 } }, async (spawner) => {
        assertDenied(await spawner.expectDenied("a"), 1, "full");
        assertDenied(await spawner.expectDenied("a", { priority: "critical" }), 1, "no-lower-priority");
      });
    },
  },
  {
    name: "2.1 maxTotal bounds the children ever spawned, ended children included",
    async run(harness) {
      const child = agentOf("child", async () => "done");
      const parent = agentOf("parent", async (ctx) => {
        const outcomes: Json[] = [];
        for (let number = 0; number < 4; number += 1) {
          try {
            outcomes.push((await ctx.join(await ctx.spawn(child, "work", { onFull: "wait" }))).output);
          } catch (error) {
            assert.ok(error instanceof BudgetExhaustedError);
            outcomes.push([error.reason, error.used, error.limit]);
          }
        }
        return outcomes;
      });
      await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
        const run = await runtime.start(parent, "go", { spawn: { maxAgents: 2, maxTotal: 2 } });
        const refused = ["spawned", 2, 2];
        assert.deepEqual((await run.result()).output, ["done", "done", refused, refused]);
      });
    },
  },
  {
    name: "2.2 two runs of the same agent hold two slots, a waiting run holds one",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        await spawner.spawn("a");
        const waiting = await spawner.spawn("?go");
        await reaches(waiting, "waiting");
        assertDenied(await spawner.expectDenied("b"), 3, "full");
      });
    },
  },
  {
    name: "2.2 pending and paused runs hold no slot",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const first = await spawner.spawn("?go");
        const second = await spawner.spawn("b", { onFull: "wait" });
        assert.equal(await second.status(), "pending");
        assertDenied(await spawner.expectDenied("c"), 2, "full");
        await first.pause();
        await spawner.call("b");
        assert.deepEqual([await first.status(), await second.status()], ["paused", "running"]);
        assertDenied(await spawner.expectDenied("c"), 2, "full");
      });
    },
  },
  {
    name: "2.3 with a free slot a run of any priority is admitted",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        await spawner.spawn("a", { priority: "background" });
        await spawner.spawn("b", { priority: "low" });
        await Promise.all([spawner.call("a"), spawner.call("b")]);
      });
    },
  },
  {
    name: "2.3 in a full tree a spawn of normal priority or below is denied with a budget error of dimension agents",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        await spawner.spawn("a", { priority: "background" });
        for (const priority of ["background", "low", "normal"] as const) {
          assertDenied(await spawner.expectDenied("b", { priority }), 2, "full");
        }
        const denials = only(await spawner.close(), "spawn.denied");
        assert.deepEqual(
          denials.map(({ childAgent, reason }) => [childAgent, reason]),
          Array.from({ length: 3 }, () => [spawner.worker.id, "full"]),
        );
      });
    },
  },
  {
    name: "2.3 an uncaught denial ends the run failed with stopReason budget.agents, without a restart",
    async run(harness) {
      const attempts: string[] = [];
      const writer = agentOf("writer", async () => null);
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("once", () => void attempts.push("once"));
        await ctx.spawn(writer, "work");
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 1 } });
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason, error?.["dimension"]], ["failed", "budget.agents", "agents"]);
        assert.deepEqual(attempts, ["once"]);
      });
    },
  },
  {
    name: "2.3 in a full tree a caller that asked to wait is queued, and its child starts when a slot frees",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const first = await spawner.spawn("a");
        const second = await spawner.spawn("b", { onFull: "wait" });
        const call = await spawner.call("a");
        assert.deepEqual([await second.status(), spawner.wasAsked("b")], ["pending", false]);
        call.answer("A");
        (await spawner.call("b")).answer("B");
        assert.deepEqual((await second.result()).output, ["B"]);
        const events = await spawner.close();
        const [queued] = only(events, "spawn.queued");
        const ended = only(events, "run.end").find(({ runId }) => runId === first.runId);
        const started = only(events, "run.start").find(({ runId }) => runId === second.runId);
        assert.deepEqual([queued?.child, queued?.victim], [second.runId, null]);
        assert.ok(ended && started && ended.seq < started.seq);
      });
    },
  },
  {
    name: "2.6 a free slot goes to the highest priority in the queue, then to the oldest",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2, allowPreempt: false } }, async (spawner) => {
        await spawner.spawn("first");
        const priorities: readonly Priority[] = ["normal", "low", "normal", "high", "low", "critical"];
        for (const [index, priority] of priorities.entries()) {
          await spawner.spawn(`${priority}-${index}`, { priority, onFull: "wait" });
        }
        const expected = ["first", "critical-5", "high-3", "normal-0", "normal-2", "low-1", "low-4"];
        for (const word of expected) {
          (await spawner.call(word)).answer("done");
        }
        assert.equal(spawner.model.calls.length, expected.length);
      });
    },
  },
  {
    name: "1.5 a queued run moves forward by one level per interval, and passes later runs",
    async run(harness) {
      const spawn = { maxAgents: 2, allowPreempt: false };
      await inSpawnHarness(harness, { spawn, runtime: { priorityAgingMs: 50 } }, async (spawner) => {
        await spawner.spawn("first");
        const patient = await spawner.spawn("patient", { priority: "background", onFull: "wait" });
        const since = performance.now();
        await eventually("it has aged", () => performance.now() - since > 200);
        const later = await spawner.spawn("later", { onFull: "wait" });
        (await spawner.call("first")).answer("done");
        await spawner.call("patient");
        assert.deepEqual([await patient.status(), await later.status()], ["running", "pending"]);
      });
    },
  },
  {
    name: "2.9 a hundred children share four slots: never more than four run at a time",
    async run(harness) {
      let [atWork, most] = [0, 0];
      const writer = agentOf("writer", async (ctx, inbox) => {
        const task = await inbox.next();
        await ctx.step("work", async () => {
          most = Math.max(most, ++atWork);
          await new Promise((resolve) => setImmediate(resolve));
          atWork -= 1;
        });
        return Number(task?.text);
      });
      const lead = agentOf("lead", async (ctx) => {
        const numbers = Array.from({ length: 100 }, (_, index) => index);
        const handles = await Promise.all(
          numbers.map((number) => ctx.spawn(writer, String(number), { onFull: "wait" })),
        );
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.map(({ output }) => output);
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 4 } });
        const { output } = await run.result();
        assert.deepEqual(
          output,
          Array.from({ length: 100 }, (_, index) => index),
        );
        assert.ok(most <= 3, `${most} children at work, besides the root`);
      });
    },
  },
  {
    name: "2.10 a slot is free again however its run ended",
    async run(harness) {
      const ways: Readonly<Record<string, string>> = {
        return: "completed",
        crash: "failed",
        overspend: "failed",
        wait: "cancelled",
        deadline: "cancelled",
      };
      const writer = agentOf("writer", async (ctx, inbox) => {
        const way = (await inbox.next())?.text;
        if (way === "crash") throw new Error("crash");
        if (way === "overspend") throw new BudgetExhaustedError({ dimension: "tokens", limit: 1, used: 1 });
        if (way !== "return") await ctx.waitFor("never");
      });
      const lead = agentOf("lead", async (ctx) => {
        const ends: Json[] = [];
        for (const way of Object.keys(ways)) {
          const budget = way === "deadline" ? { deadlineS: 0.05 } : {};
          const handle = await ctx.spawn(writer, way, { budget });
          if (way === "wait") await ctx.cancel(handle, "enough");
          ends.push((await ctx.join(handle)).status);
        }
        return ends;
      });
      await onRuntime(harness, { agents: [lead, writer], maxRestarts: 1 }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        assert.deepEqual((await run.result()).output, Object.values(ways));
      });
    },
  },
];
