import assert from "node:assert/strict";
import { BudgetExhaustedError, type ErrorData, type Json, type Priority } from "#kernel";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches } from "./history.ts";
import { inOffice } from "./office.ts";

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
      await inOffice(harness, { spawn: { maxAgents: 1 } }, async (office) => {
        assertDenied(await office.denied("a"), 1, "full");
        assertDenied(await office.denied("a", { priority: "critical" }), 1, "nobody-below");
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
      await inOffice(harness, { spawn: { maxAgents: 3 } }, async (office) => {
        await office.hire("a");
        const waiting = await office.hire("?go");
        await reaches(waiting, "waiting");
        assertDenied(await office.denied("b"), 3, "full");
      });
    },
  },
  {
    name: "2.2 pending and paused runs hold no slot",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        const first = await office.hire("?go");
        const second = await office.hire("b", { onFull: "wait" });
        assert.equal(await second.status(), "pending");
        assertDenied(await office.denied("c"), 2, "full");
        await first.pause();
        await office.call("b");
        assert.deepEqual([await first.status(), await second.status()], ["paused", "running"]);
        assertDenied(await office.denied("c"), 2, "full");
      });
    },
  },
  {
    name: "2.3 with room a slot is granted whatever the priority",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 3 } }, async (office) => {
        await office.hire("a", { priority: "background" });
        await office.hire("b", { priority: "low" });
        await Promise.all([office.call("a"), office.call("b")]);
      });
    },
  },
  {
    name: "2.3 full: normal and below is denied with a budget error of dimension agents",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        await office.hire("a", { priority: "background" });
        for (const priority of ["background", "low", "normal"] as const) {
          assertDenied(await office.denied("b", { priority }), 2, "full");
        }
        const denials = only(await office.close(), "spawn.denied");
        assert.deepEqual(
          denials.map(({ childAgent, reason }) => [childAgent, reason]),
          Array.from({ length: 3 }, () => [office.worker.id, "full"]),
        );
      });
    },
  },
  {
    name: "2.3 an uncaught denial ends the run failed with stopReason budget.agents, without a restart",
    async run(harness) {
      const attempts: string[] = [];
      const helper = agentOf("helper", async () => null);
      const boss = agentOf("boss", async (ctx) => {
        await ctx.step("once", () => void attempts.push("once"));
        await ctx.spawn(helper, "work");
      });
      await onRuntime(harness, { agents: [boss, helper] }, async (runtime) => {
        const run = await runtime.start(boss, "go", { spawn: { maxAgents: 1 } });
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason, error?.["dimension"]], ["failed", "budget.agents", "agents"]);
        assert.deepEqual(attempts, ["once"]);
      });
    },
  },
  {
    name: "2.3 full: a caller that asked to wait is queued, and its child starts when a slot frees",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2 } }, async (office) => {
        const first = await office.hire("a");
        const second = await office.hire("b", { onFull: "wait" });
        const call = await office.call("a");
        assert.deepEqual([await second.status(), office.wasAsked("b")], ["pending", false]);
        call.answer("A");
        (await office.call("b")).answer("B");
        assert.deepEqual((await second.result()).output, ["B"]);
        const events = await office.close();
        const [queued] = only(events, "spawn.queued");
        const ended = only(events, "run.end").find(({ runId }) => runId === first.runId);
        const started = only(events, "run.start").find(({ runId }) => runId === second.runId);
        assert.deepEqual([queued?.child, queued?.victim], [second.runId, null]);
        assert.ok(ended && started && ended.seq < started.seq);
      });
    },
  },
  {
    name: "2.6 a free slot goes to the highest priority in the line, then to the oldest",
    async run(harness) {
      await inOffice(harness, { spawn: { maxAgents: 2, allowPreempt: false } }, async (office) => {
        await office.hire("first");
        const priorities: readonly Priority[] = ["normal", "low", "normal", "high", "low", "critical"];
        for (const [index, priority] of priorities.entries()) {
          await office.hire(`${priority}-${index}`, { priority, onFull: "wait" });
        }
        const expected = ["first", "critical-5", "high-3", "normal-0", "normal-2", "low-1", "low-4"];
        for (const word of expected) {
          (await office.call(word)).answer("done");
        }
        assert.equal(office.model.calls.length, expected.length);
      });
    },
  },
  {
    name: "1.5 a queued run moves forward by one level per interval, and passes later runs",
    async run(harness) {
      const spawn = { maxAgents: 2, allowPreempt: false };
      await inOffice(harness, { spawn, runtime: { ageingS: 0.05 } }, async (office) => {
        await office.hire("first");
        const patient = await office.hire("patient", { priority: "background", onFull: "wait" });
        const since = performance.now();
        await eventually("it has aged", () => performance.now() - since > 200);
        const later = await office.hire("later", { onFull: "wait" });
        (await office.call("first")).answer("done");
        await office.call("patient");
        assert.deepEqual([await patient.status(), await later.status()], ["running", "pending"]);
      });
    },
  },
  {
    name: "2.9 a hundred children share four slots: never more than four run at a time",
    async run(harness) {
      let [atWork, most] = [0, 0];
      const helper = agentOf("helper", async (ctx, inbox) => {
        const task = await inbox.next();
        await ctx.step("work", async () => {
          most = Math.max(most, ++atWork);
          await new Promise((resolve) => setImmediate(resolve));
          atWork -= 1;
        });
        return Number(task?.text);
      });
      const boss = agentOf("boss", async (ctx) => {
        const numbers = Array.from({ length: 100 }, (_, index) => index);
        const handles = await Promise.all(
          numbers.map((number) => ctx.spawn(helper, String(number), { onFull: "wait" })),
        );
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.map(({ output }) => output);
      });
      await onRuntime(harness, { agents: [boss, helper] }, async (runtime) => {
        const run = await runtime.start(boss, "go", { spawn: { maxAgents: 4 } });
        const { output } = await run.result();
        assert.deepEqual(
          output,
          Array.from({ length: 100 }, (_, index) => index),
        );
        assert.ok(most <= 3, `${most} helpers at work, besides the root`);
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
      const helper = agentOf("helper", async (ctx, inbox) => {
        const way = (await inbox.next())?.text;
        if (way === "crash") throw new Error("crash");
        if (way === "overspend") throw new BudgetExhaustedError({ dimension: "tokens", limit: 1, used: 1 });
        if (way !== "return") await ctx.waitFor("never");
      });
      const boss = agentOf("boss", async (ctx) => {
        const ends: Json[] = [];
        for (const way of Object.keys(ways)) {
          const budget = way === "deadline" ? { deadlineS: 0.05 } : {};
          const handle = await ctx.spawn(helper, way, { budget });
          if (way === "wait") await ctx.cancel(handle, "enough");
          ends.push((await ctx.join(handle)).status);
        }
        return ends;
      });
      await onRuntime(harness, { agents: [boss, helper], maxRestarts: 1 }, async (runtime) => {
        const run = await runtime.start(boss, "go", { spawn: { maxAgents: 2 } });
        assert.deepEqual((await run.result()).output, Object.values(ways));
      });
    },
  },
];
