import assert from "node:assert/strict";
import { BudgetExhaustedError, ChatMessage, MiddlewareTermination, type Agent } from "#kernel";
import type { RunHandle } from "#runtime";
import { say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, forever, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

/** Section 5: runs that crash, and code that changes under them. */
export const crashCases: readonly EngineCase[] = [
  {
    name: "5.7 a run that crashes restarts from its journal: recorded steps are not executed again",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const done: string[] = [];
      const tool = effect("note", async () => done.push("tool"));
      let crashes = 0;
      const lead = agentOf(
        "lead",
        async (ctx, inbox) => {
          const task = await inbox.next();
          await ctx.llm([ChatMessage.user("hello")]);
          await ctx.tool("note", {});
          const signal = await ctx.waitFor("go");
          await ctx.step("step", () => void done.push("step"));
          if (++crashes <= 2) throw new Error("crash");
          return [task?.text ?? null, signal, await ctx.step("last", () => "done")];
        },
        { model, tools: [tool] },
      );
      await onRuntime(harness, { agents: [lead], maxRestarts: 2 }, async (runtime) => {
        const run = await runtime.start(lead, "task");
        await run.signal("go", 7);
        const { status, output, usage } = await run.result();
        assert.deepEqual([status, output], ["completed", ["task", 7, "done"]]);
        assert.deepEqual([usage.input, model.requests.length], [10, 1]);
        const events = await historyOf(run);
        assert.equal(only(events, "run.start").length, 1);
        assert.equal(only(events, "run.end").length, 1);
        assert.equal(only(events, "model.end").length, 1);
      });
      assert.deepEqual(done, ["tool", "step"]);
    },
  },
  {
    name: "5.7 after maxRestarts the run has failed, with its own error",
    async run(harness) {
      let crashes = 0;
      let executed = 0;
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("work", () => void (executed += 1));
        crashes += 1;
        throw new TypeError(`crash`);
      });
      await onRuntime(harness, { agents: [lead], maxRestarts: 2 }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason], ["failed", "error"]);
        assert.deepEqual([error?.code, error?.["kind"], error?.message], ["foreign", "TypeError", "crash"]);
        assert.equal(only(await historyOf(run), "run.end").length, 1);
      });
      assert.ok(crashes >= 3, `${crashes} crashes`);
      assert.equal(executed, 1);
    },
  },
  {
    name: "5.7 an agent's own maxRestarts holds for its runs",
    async run(harness) {
      let crashed = false;
      const child = agentOf(
        "child",
        async () => {
          if (crashed) return "started again";
          crashed = true;
          throw new Error("crash");
        },
        { maxRestarts: 0 },
      );
      const parent = agentOf("parent", async (ctx) => (await ctx.join(await ctx.spawn(child, "go"))).status);
      await onRuntime(harness, { agents: [parent, child], maxRestarts: 3 }, async (runtime) => {
        assert.equal((await (await runtime.start(parent, "go")).result()).output, "failed");
      });
    },
  },
  {
    name: "5.7 a run with no restarts fails at its first crash",
    async run(harness) {
      let crashed = false;
      const lead = agentOf("lead", async () => {
        if (crashed) return "started again";
        crashed = true;
        throw new Error("crash");
      });
      await onRuntime(harness, { agents: [lead], maxRestarts: 0 }, async (runtime) => {
        const { status, output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, output], ["failed", null]);
      });
    },
  },
  ...[
    { error: new BudgetExhaustedError({ dimension: "cost", limit: 5, used: 5 }), stopReason: "budget.cost" },
    { error: new MiddlewareTermination({ reason: "no" }), stopReason: "terminated" },
  ].map(({ error, stopReason }): EngineCase => ({
    name: `5.7 ${error.code} ends the run as failed: it is not restarted like a crash`,
    async run(harness) {
      let thrown = false;
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("work", () => null);
        if (thrown) return "started again";
        thrown = true;
        throw error;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const result = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([result.status, result.stopReason, result.output], ["failed", stopReason, null]);
        assert.equal(result.error?.code, error.code);
      });
    },
  })),
  {
    name: "5.7 a run that crashes because it was cancelled is cancelled, and not started again",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        try {
          await forever(ctx);
        } catch {
          throw new Error("cannot cope");
        }
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await reaches(run, "waiting");
        await run.cancel();
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason, error], ["cancelled", "cancelled", undefined]);
      });
    },
  },
  {
    name: "5.7 a run can be cancelled between two crashes",
    async run(harness) {
      let crashes = 0;
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("work", () => null);
        crashes += 1;
        throw new Error("crash");
      });
      await onRuntime(harness, { agents: [lead], maxRestarts: 1_000_000 }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await eventually("it has crashed a few times", () => crashes >= 3);
        await run.cancel();
        assert.equal((await run.result()).status, "cancelled");
      });
    },
  },
  {
    name: "5.6 a run of another agent version is not executed: it waits for its own version",
    async run(harness) {
      const executed: string[] = [];
      const work: Agent["run"] = (ctx) =>
        ctx.step("work", () => void executed.push(`in version ${deployed.version}`));
      const deployed = deployable(work);
      await runWhileQueued(harness, deployed, async (run, worker, start) => {
        deployed.version = "2";
        await start();
        await eventually("the new version was looked at", () => deployed.looks > 1);
        assert.deepEqual([await worker.status(), executed], ["running", []]);
        deployed.version = "1";
        assert.deepEqual((await worker.result()).status, "completed");
        assert.deepEqual(executed, ["in version 1"]);
        await run.cancel();
      });
    },
  },
  {
    name: "5.6 a run that waits for its version can be cancelled",
    async run(harness) {
      const deployed = deployable(forever);
      await runWhileQueued(harness, deployed, async (run, worker, start) => {
        deployed.version = "2";
        await start();
        await eventually("the new version was looked at", () => deployed.looks > 1);
        const receipt = await worker.cancel("not worth it");
        assert.deepEqual(
          receipt.runs.map(({ runId }) => runId),
          [worker.runId],
        );
        assert.equal((await worker.result()).status, "cancelled");
        await run.cancel();
      });
    },
  },
];

interface Deployed {
  readonly agent: Agent;
  /** The version in the process that executes runs. */
  version: string;
  /** Number of comparisons since. */
  looks: number;
}

/** An agent whose version changes during its runs, as in a deployment. */
function deployable(work: Agent["run"]): Deployed {
  const deployed: Deployed = {
    version: "1",
    looks: 0,
    agent: {
      ...agentOf("worker", work),
      get version() {
        deployed.looks += 1;
        return deployed.version;
      },
    },
  };
  return deployed;
}

/** Runs a case's body on a tree in which a run of version 1 is queued until `start`. */
async function runWhileQueued(
  harness: SuiteHarness,
  deployed: Deployed,
  body: (run: RunHandle, worker: RunHandle, start: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { agent } = deployed;
  const blocker = agentOf("blocker", async (ctx) => ctx.waitFor("finish"));
  const lead = agentOf("lead", async (ctx) => {
    await ctx.spawn(blocker, "block");
    await ctx.spawn({ id: agent.id, version: "1" }, "work", { onFull: "wait" });
    await forever(ctx);
  });
  await onRuntime(harness, { agents: [lead, blocker, agent] }, async (runtime) => {
    const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
    const { child } = await waitForEvent(run, "spawn.queued");
    const { runId } = await waitForEvent(run, "run.start", (event) => event.agent === blocker.id);
    deployed.looks = 0;
    await body(run, runtime.run(child), () => runtime.run(runId).signal("finish"));
  });
}
