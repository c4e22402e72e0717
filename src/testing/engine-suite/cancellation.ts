import assert from "node:assert/strict";
import {
  CancellationError,
  ChatMessage,
  encodeError,
  MessageId,
  Supervision,
  type Agent,
  type Inbox,
  type Json,
  type RunContext,
} from "#kernel";
import { manualModel } from "../manual-model.ts";
import { say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, forever, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

const hello = [ChatMessage.user("hello")];

/** Section 4: which runs a cancel stops, how fast, and what they report afterwards. */
export const cancellationCases: readonly EngineCase[] = [
  {
    name: "4.1 the first reason wins, and cancelling twice is the same cancel",
    async run(harness) {
      const lead = agentOf("lead", forever);
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await reaches(run, "waiting");
        const [first, second] = await Promise.all([run.cancel("first"), run.cancel("second")]);
        assert.deepEqual(first, second);
        assert.ok(["first", "second"].includes(first.reason));
        assert.deepEqual(
          only(await historyOf(run), "run.cancelling").map(({ reason }) => reason),
          [first.reason],
        );
        assert.deepEqual(await run.cancel("third"), { reason: "third", runs: [] });
        assert.equal((await run.result()).status, "cancelled");
      });
    },
  },
  {
    name: "4.1 a child's cancel stops its own children, never its parent or siblings",
    async run(harness) {
      const worker = agentOf("worker", forever);
      const researcher = agentOf("researcher", async (ctx) => {
        await ctx.spawn(worker, "work");
        await forever(ctx);
      });
      const sibling = agentOf("sibling", async (ctx) => ctx.waitFor("finish"));
      const lead = agentOf("lead", async (ctx) => {
        const other = await ctx.spawn(sibling, "work");
        const stopped = await ctx.join(await ctx.spawn(researcher, "work"));
        return [stopped.status, stopped.stopReason, (await ctx.join(other)).output];
      });
      await onRuntime(harness, { agents: [lead, researcher, worker, sibling] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { runId } = await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        const started = await waitForEvent(run, "run.start", ({ agent }) => agent === researcher.id);
        const other = await waitForEvent(run, "run.start", ({ agent }) => agent === sibling.id);
        const receipt = await runtime.run(started.runId).cancel("not needed");
        assert.deepEqual(
          new Set(receipt.runs.map((stopped) => stopped.runId)),
          new Set([started.runId, runId]),
        );
        await runtime.run(other.runId).signal("finish", "fine");
        const { status, output } = await run.result();
        assert.equal(status, "completed");
        assert.deepEqual(output, ["cancelled", "cancelled", "fine"]);
      });
    },
  },
  {
    name: "4.1 a run spawned during a cancel starts cancelled or never starts, and the tree ends",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const worker = agentOf("worker", async (ctx) => void (await ctx.llm(hello)), { model });
      const lead = agentOf("lead", async (ctx) => {
        for (;;) await Promise.all([ctx.spawn(worker, "a"), ctx.spawn(worker, "b")]);
      });
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const cancelOne = async (spawns: number): Promise<void> => {
          const run = await runtime.start(lead, "go", { spawn: { maxAgents: 1_000 } });
          let admitted = 0;
          for await (const { type } of run.events())
            if (type === "spawn.admitted" && ++admitted > spawns) break;
          await run.cancel();
          const { status } = await run.result();
          assert.equal(status, "cancelled");
          const events = await historyOf(run);
          const marked = new Map(only(events, "run.cancelling").map(({ runId, seq }) => [runId, seq]));
          for (const { runId, seq } of only(events, "model.start"))
            assert.ok(seq < (marked.get(runId) ?? Infinity), "no call begins in a cancelled run");
          const started = only(events, "run.start").map(({ runId }) => runId);
          assert.deepEqual(new Set(only(events, "run.end").map(({ runId }) => runId)), new Set(started));
          assert.equal(events.at(-1)?.type, "run.end");
        };
        await Promise.all([0, 1, 2, 5, 9].map(cancelOne));
      });
    },
  },
  {
    name: "4.6 a cancelled run that continues gets the same error from every call, and nothing begins",
    async run(harness) {
      const model = manualModel();
      const begun: string[] = [];
      const touch = effect("touch", async () => begun.push("tool"));
      const lead: Agent = agentOf(
        "lead",
        async (ctx, inbox) => {
          await ctx.llm(hello).catch(() => undefined);
          const answers: string[] = [];
          for (const attempt of everyCall(ctx, inbox, begun)) answers.push(await outcomeOf(attempt));
          return answers;
        },
        { model, tools: [touch] },
      );
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await eventually("the call is in flight", () => model.calls.length === 1);
        await run.cancel("enough");
        const { status, output } = await run.result();
        assert.equal(status, "cancelled");
        assert.deepEqual(
          output,
          Array.from({ length: 19 }, () => "cancelled: enough"),
        );
        assert.deepEqual([begun, model.calls.length], [[], 1]);
        assert.equal(only(await historyOf(run), "run.start").length, 1);
      });
    },
  },
  {
    name: "4.6 a cancelled run keeps its partial result, and its parent sees that it was cancelled",
    async run(harness) {
      const worker = agentOf("worker", async (ctx) => {
        const notes: Json[] = [await ctx.step("one", () => 1), await ctx.step("two", () => 2)];
        try {
          await forever(ctx);
        } catch (error) {
          notes.push(error instanceof CancellationError ? error.reason : String(error));
        }
        return notes;
      });
      const lead = agentOf("lead", async (ctx) => {
        const { status, stopReason, output, error } = await ctx.join(await ctx.spawn(worker, "work"));
        return { status, stopReason, output, error: error ? error.code : null };
      });
      await onRuntime(harness, { agents: [lead, worker] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { runId } = await waitForEvent(run, "run.start", ({ agent }) => agent === worker.id);
        await reaches(runtime.run(runId), "waiting");
        await runtime.run(runId).cancel("changed my mind");
        const { output } = await run.result();
        const kept = [1, 2, "changed my mind"];
        assert.deepEqual(output, { status: "cancelled", stopReason: "cancelled", output: kept, error: null });
        assert.deepEqual((await runtime.run(runId).result()).output, kept);
      });
    },
  },
  {
    name: "4.6 an answer that comes after the cancel is kept, and the run still ends as cancelled",
    async run(harness) {
      let accepted = false;
      const late = async (): Promise<string> => {
        await eventually("the cancel was accepted", () => accepted);
        return "late";
      };
      const lead = agentOf("lead", (ctx) => ctx.step("deaf", late));
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const receipt = run.cancel();
        await waitForEvent(run, "run.cancelling");
        accepted = true;
        assert.equal((await receipt).runs.length, 1);
        const { status, output } = await run.result();
        assert.equal(status, "cancelled");
        assert.ok(output === "late" || output === null, "null where it never began");
      });
    },
  },
  {
    name: "4.4 a run can cancel itself",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const waiting = forever(ctx).catch((error: unknown) => encodeError(error).message ?? "");
        await ctx.step("work", () => null);
        ctx.meta.cancellation.cancel("my own doing");
        ctx.meta.cancellation.cancel("twice");
        return waiting;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { status, output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, output], ["cancelled", "cancelled: my own doing"]);
      });
    },
  },
];

/** Every call a run can make that needs it to be alive. */
function everyCall(ctx: RunContext, inbox: Inbox, begun: string[]): readonly (() => unknown)[] {
  const { runId, agentId } = ctx.supervision;
  const handle = { runId, agentId, firstMessage: null };
  const self = { id: agentId };
  const question = {
    id: MessageId.of("q"),
    from: { kind: "outside", name: "x" },
    text: "",
    askedBy: runId,
    at: 0,
  } as const;
  return [
    () => ctx.llm(hello),
    () => ctx.tool("touch", {}),
    () => ctx.step("touch", () => void begun.push("step")),
    () => ctx.spawn(self, "again"),
    () => ctx.spawnChild("again"),
    () => ctx.join(handle),
    () => ctx.ask(self, "again", { timeoutS: 60 }),
    () => ctx.askOrThrow(handle, "again", { timeoutS: 60 }),
    () => ctx.reply(question, "no"),
    () => ctx.send(agentId, "again"),
    () => ctx.emit("still here"),
    () => ctx.subscribe(Supervision.progressTopic(ctx.supervision))[Symbol.asyncIterator]().next(),
    () => ctx.sleepUntil(0),
    () => ctx.waitFor("never"),
    () => ctx.now(),
    () => ctx.check(),
    () => ctx.status(runId),
    () => ctx.cancel(handle, "again"),
    () => inbox.next({ waitS: 60 }),
  ];
}

/** Returns the outcome of a call in one word. */
async function outcomeOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return "went through";
  } catch (error) {
    return encodeError(error).message ?? "";
  }
}
