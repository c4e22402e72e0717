import assert from "node:assert/strict";
import { RunId, WaitCycleError, type ChildHandle, type Json, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { reaches, waitForEvent } from "./history.ts";

/** Returns a handle of the parent. */
function leadOf(ctx: RunContext): ChildHandle {
  const { parentRunId, parentId } = ctx.supervision;
  if (!parentRunId || !parentId) throw new Error("the root has no lead");
  return { runId: parentRunId, agentId: parentId, firstMessage: null };
}

/** Returns the outcome of asking a run: its kind, or the number of runs in the wait cycle. */
function tryAsking(ctx: RunContext, handle: ChildHandle, timeoutS = 60): Promise<Json> {
  return ctx.ask(handle, "and you?", { timeoutS }).then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof WaitCycleError ? error.cycle.length : "another error"),
  );
}

/** Section 6.9: no cycles of waiting runs. */
export const waitCycleCases: readonly EngineCase[] = [
  {
    name: "6.9 when two runs ask each other, the last ask is refused with a WaitCycleError",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        const question = await inbox.next();
        const tried = await tryAsking(ctx, leadOf(ctx));
        if (question) await ctx.reply(question, "done", tried);
      });
      const lead = agentOf("lead", async (ctx) => {
        const outcome = await ctx.ask(writer, "question", { timeoutS: 60 });
        return outcome.kind === "replied" ? (outcome.data ?? null) : outcome.kind;
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        assert.equal((await (await runtime.start(lead, "go")).result()).output, 3);
      });
    },
  },
  {
    name: "6.9 a cycle of three asks is also found, by agent or by handle",
    async run(harness) {
      const third = agentOf("third", async (ctx, inbox) => {
        const question = await inbox.next();
        await ctx.waitFor("the others wait");
        const root = RunId.root(ctx.supervision.treeId);
        const tried = await tryAsking(ctx, {
          runId: root,
          agentId: ctx.supervision.rootId,
          firstMessage: null,
        });
        if (question) await ctx.reply(question, "done", tried);
      });
      const second = agentOf("second", async (ctx, inbox) => {
        const question = await inbox.next();
        const outcome = await ctx.ask(await ctx.spawn(third, "task"), "task", { timeoutS: 60 });
        if (question && outcome.kind === "replied") await ctx.reply(question, "done", outcome.data);
      });
      const lead = agentOf("lead", async (ctx) => {
        const outcome = await ctx.ask(second, "question", { timeoutS: 60 });
        return outcome.kind === "replied" ? (outcome.data ?? null) : outcome.kind;
      });
      await onRuntime(harness, { agents: [lead, second, third] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const middle = await waitForEvent(
          root,
          "spawn.admitted",
          ({ childAgent }) => childAgent === second.id,
        );
        const last = await waitForEvent(root, "spawn.admitted", ({ childAgent }) => childAgent === third.id);
        await reaches(runtime.run(middle.child), "waiting");
        await runtime.run(last.child).signal("the others wait");
        assert.equal((await root.result()).output, 4);
      });
    },
  },
  {
    name: "6.9 an ask that is over, answered or not, is not part of a circle",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        const first = await inbox.next();
        if (first) await ctx.reply(first, "hello");
        const answered = await tryAsking(ctx, leadOf(ctx));
        await inbox.next({ waitS: 60 });
        await inbox.next({ waitS: 60 });
        const timedOut = await tryAsking(ctx, leadOf(ctx));
        return [answered, timedOut];
      });
      const lead = agentOf("lead", async (ctx, inbox) => {
        await inbox.next();
        const { handle } = await ctx.ask(writer, "first", { timeoutS: 60 });
        const question = await inbox.next({ waitS: 60 });
        if (question) await ctx.reply(question, "fine");
        await ctx.ask(handle, "second", { timeoutS: 0.02 });
        await ctx.send(handle, "now");
        const another = await inbox.next({ waitS: 60 });
        if (another) await ctx.reply(another, "still fine");
        return (await ctx.join(handle)).output;
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["replied", "replied"]);
      });
    },
  },
];
