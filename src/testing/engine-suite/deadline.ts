import assert from "node:assert/strict";
import { ChatMessage, encodeError, type Agent, type Json } from "#kernel";
import { manualModel } from "../manual-model.ts";
import { say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, forever, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";

const hello = [ChatMessage.user("hello")];

/** Section 4: deadlines. */
export const deadlineCases: readonly EngineCase[] = [
  ...(["waiting", "calling", "asleep"] as const).map((doing): EngineCase => ({
    name: `4.7 a deadline that passes while ${doing} is a cancel with reason deadline`,
    async run(harness) {
      const model = manualModel();
      const lead = agentOf(
        "lead",
        async (ctx) => {
          try {
            if (doing === "calling") await ctx.llm(hello);
            else if (doing === "asleep") await ctx.sleepUntil((await ctx.now()) + 600_000);
            else await forever(ctx);
            return "went through";
          } catch (error) {
            return encodeError(error).message ?? null;
          }
        },
        { model },
      );
      // The tree would end it, but not during this case.
      await onRuntime(harness, { agents: [lead], cancelGraceS: 3_600 }, async (runtime) => {
        const began = performance.now();
        const run = await runtime.start(lead, "go", { deadlineS: 0.15 });
        const { status, stopReason, output } = await run.result();
        assert.deepEqual([status, stopReason, output], ["cancelled", "deadline", "cancelled: deadline"]);
        const tookMs = performance.now() - began;
        assert.ok(tookMs >= 149, `took ${tookMs} ms`);
        assert.ok(model.calls.every(({ signal }) => signal.aborted));
      });
    },
  })),
  {
    name: "4.7 no call starts after the deadline",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const begun: string[] = [];
      const touch = effect("touch", async () => begun.push("tool"));
      const lead: Agent = agentOf(
        "lead",
        async (ctx) => {
          const deadline = ctx.meta.deadline ?? Infinity;
          // Blocks the event loop until the deadline is over, so the run notices it only in the step.
          const block = (): void => {
            while (Date.now() <= deadline + 5);
          };
          await ctx.step("block", block).catch(() => undefined);
          const calls: (() => Promise<unknown>)[] = [
            () => ctx.step("touch", () => void begun.push("step")),
            () => ctx.llm(hello),
            () => ctx.tool("touch", {}),
            () => ctx.spawn(lead, "again"),
            () => ctx.waitFor("never"),
          ];
          const answers: Json[] = [];
          for (const call of calls) {
            answers.push(
              await call().then(
                () => "went through",
                (error: unknown) => encodeError(error).message ?? null,
              ),
            );
          }
          return answers;
        },
        { model, tools: [touch] },
      );
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { deadlineS: 0.2 });
        const { stopReason, output } = await run.result();
        assert.equal(stopReason, "deadline");
        assert.deepEqual(new Set(Array.isArray(output) ? output : []), new Set(["cancelled: deadline"]));
        assert.deepEqual([begun, model.requests.length], [[], 0]);
        assert.equal(only(await historyOf(run), "run.start").length, 1);
      });
    },
  },
  {
    name: "4.7 a run keeps its partial text when its deadline passes, but it is not an answer",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const deadline = ctx.meta.deadline ?? Infinity;
        return ctx.step("block", () => {
          while (Date.now() <= deadline + 5);
          return "late";
        });
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { deadlineS: 0.2 });
        const { status, stopReason, output } = await run.result();
        assert.deepEqual([status, stopReason], ["cancelled", "deadline"]);
        assert.ok(output === "late" || output === null, "null where it never began");
      });
    },
  },
  {
    name: "4.3 the deadline is the earlier one of parent and child, at any depth",
    async run(harness) {
      const deadlines = new Map<string, number | null>();
      const note =
        (agent: Agent["run"]): Agent["run"] =>
        async (ctx, inbox) => {
          deadlines.set(ctx.supervision.agentId, ctx.meta.deadline);
          return agent(ctx, inbox);
        };
      const leaf = agentOf(
        "leaf",
        note(async () => null),
        { budget: { deadlineS: 9_000 } },
      );
      const middle = agentOf(
        "middle",
        note(async (ctx) => void (await ctx.join(await ctx.spawn(leaf, "x")))),
      );
      const brief = agentOf("brief", note(forever), { budget: { deadlineS: 0.1 } });
      const lead = agentOf(
        "lead",
        note(async (ctx) => {
          await ctx.join(await ctx.spawn(middle, "x"));
          const { status, stopReason } = await ctx.join(await ctx.spawn(brief, "x"));
          return [status, stopReason];
        }),
        { budget: { deadlineS: 600 } },
      );
      await onRuntime(harness, { agents: [lead, middle, leaf, brief] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { deadlineS: 300 });
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["completed", ["cancelled", "deadline"]]);
        const { at } = await waitForEvent(run, "run.start", ({ runId }) => runId === run.runId);
        assert.equal(deadlines.get("lead"), at + 300_000);
        assert.deepEqual([deadlines.get("middle"), deadlines.get("leaf")], [at + 300_000, at + 300_000]);
        const started = await waitForEvent(run, "run.start", ({ agent }) => agent === brief.id);
        assert.equal(deadlines.get("brief"), started.at + 100);
      });
    },
  },
  {
    name: "4.3 a child's time begins when it starts, not while it is queued",
    async run(harness) {
      const deadlines: Record<string, number | null> = {};
      const worker = agentOf("worker", async (ctx, inbox) => {
        const task = await inbox.next();
        deadlines[task?.text ?? ""] = ctx.meta.deadline;
        if (task?.text === "first") await ctx.waitFor("finish");
      });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.spawn(worker, "first");
        const second = await ctx.spawn(worker, "second", { onFull: "wait", budget: { deadlineS: 30 } });
        return (await ctx.join(second)).status;
      });
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        const queued = await waitForEvent(run, "spawn.queued");
        const first = await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        await eventually("some time has passed", () => Date.now() > queued.at + 50);
        await runtime.run(first.runId).signal("finish");
        assert.equal((await run.result()).output, "completed");
        const { at } = await waitForEvent(run, "run.start", ({ runId }) => runId === queued.child);
        assert.ok(at > queued.at + 50);
        assert.equal(deadlines["second"], at + 30_000);
      });
    },
  },
  {
    name: "4.3 a deadline wakes a held run, and so does its parent's deadline",
    async run(harness) {
      const worker = agentOf("worker", forever);
      const lead = agentOf("lead", async (ctx) => void (await ctx.join(await ctx.spawn(worker, "work"))));
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { deadlineS: 2 });
        await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        await run.pause();
        const { status, stopReason } = await run.result();
        assert.deepEqual([status, stopReason], ["cancelled", "deadline"]);
        const ends = only(await historyOf(run), "run.end");
        assert.equal(ends.length, 2);
        assert.ok(ends.every((end) => end.status === "cancelled"));
        assert.ok(ends.every((end) => ["deadline", "parent-ended"].includes(end.stopReason)));
      });
    },
  },
  {
    name: "4.7 a run that keeps crashing is not started again after its deadline",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("work", () => null);
        throw new Error("crash");
      });
      await onRuntime(harness, { agents: [lead], maxRestarts: 1_000_000 }, async (runtime) => {
        const { status, stopReason } = await (await runtime.start(lead, "go", { deadlineS: 0.2 })).result();
        assert.deepEqual([status, stopReason], ["cancelled", "deadline"]);
      });
    },
  },
  {
    name: "4.3 a deadline survives a crash and a continuation",
    async run(harness) {
      const deadlines = new Set<number | null>();
      let crashed = false;
      const lead = agentOf("lead", async (ctx) => {
        deadlines.add(ctx.meta.deadline);
        if (ctx.state === null) {
          await ctx.step("work", () => null);
          if (!crashed) {
            crashed = true;
            throw new Error("crash");
          }
          return ctx.continueAs("second life");
        }
        return forever(ctx);
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { deadlineS: 0.4 });
        assert.equal((await run.result()).stopReason, "deadline");
        const { at } = await waitForEvent(run, "run.start");
        assert.deepEqual([...deadlines], [at + 400]);
      });
    },
  },
];
