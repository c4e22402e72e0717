import assert from "node:assert/strict";
import { CancellationError, ChatMessage, RetryableError, type Agent, type StepCall } from "#kernel";
import { manualModel } from "../manual-model.ts";
import { say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, forever, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

const hello = [ChatMessage.user("hello")];
const never = (): Promise<never> => new Promise(() => undefined);
const callTwice: Agent["run"] = async (ctx) => void (await ctx.llm(hello), await ctx.llm(hello));
const untilAborted = ({ signal }: StepCall): Promise<null> =>
  new Promise((_, reject) => signal.addEventListener("abort", reject));

/** Section 4: the reach of a cancel, whatever its run is doing. */
export const cancelReachCases: readonly EngineCase[] = [
  {
    name: "4.4 the signal of a cancelled run reaches its model calls, tools and steps, with the reason",
    async run(harness) {
      const model = manualModel();
      const signals = new Map<string, AbortSignal>();
      const hold = (name: string, signal: AbortSignal): Promise<never> => {
        signals.set(name, signal);
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("put down")));
        });
      };
      const tool = effect("hold", (_, { signal }) => hold("tool", signal));
      const repeatable = effect("again", (_, { signal }) => hold("again", signal), { idempotent: true });
      const worker = agentOf(
        "worker",
        async (ctx) => {
          const work = [
            ctx.llm(hello),
            ctx.tool("hold", {}),
            ctx.tool("again", {}),
            ctx.step("hold", ({ signal }) => hold("step", signal)),
          ];
          const settled = await Promise.allSettled(work);
          return settled.map((end) => end.status === "rejected" && end.reason instanceof CancellationError);
        },
        { model, tools: [tool, repeatable] },
      );
      const lead = agentOf("lead", async (ctx) => (await ctx.join(await ctx.spawn(worker, "work"))).output);
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await eventually("all are at it", () => model.calls.length === 1 && signals.size === 3);
        const { runId } = await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        await run.cancel("enough");
        for (const signal of [...signals.values(), ...model.calls.map((call) => call.signal)]) {
          assert.ok(signal.reason instanceof CancellationError);
          assert.equal(signal.reason.reason, "enough");
        }
        assert.deepEqual((await runtime.run(runId).result()).output, [true, true, true, true]);
      });
    },
  },
  ...["model", "tool", "step"].map((kind): EngineCase => ({
    name: `4.4 a ${kind} that ignores its signal does not keep a cancelled run alive`,
    async run(harness) {
      let begun = false;
      const deaf = (): Promise<never> => {
        begun = true;
        return never();
      };
      const lead = agentOf(
        "lead",
        async (ctx) => {
          if (kind === "model") await ctx.llm(hello);
          else if (kind === "tool") await ctx.tool("deaf", {});
          else await ctx.step("deaf", deaf);
        },
        { model: { id: "deaf", generate: deaf }, tools: [effect("deaf", deaf)] },
      );
      // The tree would end it, but not during this case.
      await onRuntime(harness, { agents: [lead], cancelGraceS: 3_600 }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await eventually("it has begun", () => begun);
        const receipt = await run.cancel();
        assert.equal(receipt.runs.length, 1);
        assert.equal((await run.result()).status, "cancelled");
      });
    },
  })),
  {
    name: "4.4 a step that waits to be retried is not tried again after the cancel",
    async run(harness) {
      let tries = 0;
      const fail = (): never => {
        tries += 1;
        throw new RetryableError({ message: "not now" });
      };
      const lead = agentOf("lead", (ctx) => ctx.step("flaky", fail, { retry: { baseMs: 4_000 } }));
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await eventually("it has failed once", () => tries === 1);
        await run.cancel();
        assert.deepEqual([(await run.result()).status, tries], ["cancelled", 1]);
      });
    },
  },
  {
    name: "4.1 a cancel reaches a queued run: it ends without ever starting",
    async run(harness) {
      const steps: string[] = [];
      const worker = agentOf("worker", async (ctx, inbox) => {
        const task = await inbox.next();
        await ctx.step("work", () => void steps.push(task?.text ?? ""));
        await forever(ctx);
      });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.spawn(worker, "first");
        const second = await ctx.spawn(worker, "second", { onFull: "wait" });
        const { status, stopReason } = await ctx.join(second);
        await ctx.emit([status, stopReason]);
        await forever(ctx);
      });
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        const { child } = await waitForEvent(run, "spawn.queued");
        const second = runtime.run(child);
        assert.equal(await second.status(), "pending");
        assert.deepEqual(
          (await second.cancel()).runs.map(({ runId }) => runId),
          [child],
        );
        assert.deepEqual((await waitForEvent(run, "progress.emitted")).data, ["cancelled", "cancelled"]);
        await run.cancel();
        const started = only(await historyOf(run), "run.start").map(({ runId }) => runId);
        assert.deepEqual([started.includes(child), steps], [false, ["first"]]);
      });
    },
  },
  ...(["waiting", "calling"] as const).map((doing): EngineCase => ({
    name: `4.1 a cancel wakes a run that was held while ${doing}, and the root that was held with it`,
    async run(harness) {
      const model = manualModel();
      const worker = agentOf("worker", doing === "waiting" ? forever : callTwice, { model });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.join(await ctx.spawn(worker, "work"));
      });
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { runId } = await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        const held = runtime.run(runId);
        if (doing === "waiting") await reaches(held, "waiting");
        else await eventually("the call is in flight", () => model.calls.length === 1);
        await run.pause();
        model.calls[0]?.answer("done");
        await waitForEvent(run, "run.paused", (event) => event.runId === runId);
        assert.deepEqual([await run.status(), await held.status()], ["paused", "paused"]);
        const receipt = await run.cancel("enough");
        assert.deepEqual(new Set(receipt.runs.map((stopped) => stopped.runId)), new Set([run.runId, runId]));
        assert.equal((await run.result()).status, "cancelled");
        assert.equal(model.calls.length, doing === "waiting" ? 0 : 1);
      });
    },
  })),
  {
    name: "4.1 a cancel wakes a run that was preempted, and it ends without a slot",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("?go v");
        await reaches(victim, "waiting");
        const taker = await spawner.spawn("t", { priority: "high" });
        await spawner.call("t");
        await reaches(victim, "paused");
        assert.equal((await victim.cancel()).runs.length, 1);
        assert.equal((await victim.result()).status, "cancelled");
        assert.deepEqual([await taker.status(), spawner.wasAsked("v")], ["running", false]);
      });
    },
  },
  {
    name: "4.1 a cancel that arrives while a run begins to wait is not missed",
    async run(harness) {
      const lead = agentOf("lead", async (_, inbox) => {
        for (;;) await inbox.next({ waitS: 600 });
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const cancelOne = async (index: number): Promise<void> => {
          const run = await runtime.start(lead, "go");
          const sends = Array.from({ length: index % 8 }, (_, message) => run.send(`${message}`));
          await Promise.all([...sends, run.cancel()]).catch(() => undefined);
          assert.equal((await run.result()).status, "cancelled");
        };
        await Promise.all(Array.from({ length: 24 }, (_, index) => cancelOne(index)));
      });
    },
  },
  {
    name: "4.1 a cancelled tree ends, whatever it is doing at the time",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const note = effect("note", async () => null);
      const writer = agentOf("writer", async (ctx, inbox) => {
        await inbox.next();
        const question = await inbox.next({ waitS: 60 });
        if (question) await ctx.reply(question, "yes");
      });
      const busy = agentOf(
        "busy",
        async (ctx, inbox) => {
          await Promise.all([ctx.llm(hello), ctx.tool("note", {}), ctx.step("work", () => null)]);
          const handle = await ctx.spawn(writer, "help");
          await ctx.ask(handle, "well?", { timeoutS: 60 });
          await ctx.join(handle);
          await ctx.sleepUntil((await ctx.now()) + 2);
          await ctx.waitFor("nothing", { timeoutS: 0.002 });
          await inbox.next({ waitS: 0.002 });
          await ctx.emit("round");
          return ctx.continueAs(null);
        },
        { model, tools: [note] },
      );
      await onRuntime(harness, { agents: [busy, writer] }, async (runtime) => {
        const cancelOne = async (moment: number): Promise<void> => {
          const run = await runtime.start(busy, "go");
          for await (const { seq } of run.events()) if (seq > moment) break;
          await run.cancel("enough");
          assert.equal((await run.result()).status, "cancelled");
          const events = await historyOf(run);
          const ended = only(events, "run.end").map(({ runId }) => runId);
          assert.deepEqual(new Set(ended), new Set(only(events, "run.start").map(({ runId }) => runId)));
          assert.equal(new Set(ended).size, ended.length);
        };
        await Promise.all(Array.from({ length: 36 }, (_, moment) => cancelOne(moment)));
      });
    },
  },
  {
    name: "4.1 calls that are not awaited end with their run, without an unhandled rejection",
    async run(harness) {
      const model = manualModel();
      const loud: unknown[] = [];
      const listen = (error: unknown): void => void loud.push(error);
      const lead = agentOf(
        "lead",
        async (ctx) => {
          void ctx.waitFor("never");
          void ctx.llm(hello);
          const later = ctx.step("long", untilAborted);
          await forever(ctx);
          await later;
        },
        { model },
      );
      process.on("unhandledRejection", listen);
      try {
        await onRuntime(harness, { agents: [lead] }, async (runtime) => {
          const run = await runtime.start(lead, "go");
          await eventually("the call is in flight", () => model.calls.length === 1);
          await run.cancel();
          assert.equal((await run.result()).status, "cancelled");
        });
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(loud, []);
      } finally {
        process.off("unhandledRejection", listen);
      }
    },
  },
];
