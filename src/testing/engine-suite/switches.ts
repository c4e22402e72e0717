import assert from "node:assert/strict";
import { ChatMessage, ContentBlock, DisabledError, Json, type Agent } from "#kernel";
import { manualModel, type ManualModel } from "../manual-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

/** A name of its own: engines may remember the switches of other cases. */
const freshName = (name: string): string => `${name}-${crypto.randomUUID().slice(0, 8)}`;

/** Asks its model twice. */
function agentWithTwoCalls(name: string, model: ManualModel): Agent {
  return agentOf(
    name,
    async (ctx) => {
      const first = await ctx.llm([ChatMessage.user("first")]);
      const second = await ctx.llm([ChatMessage.user("second")]);
      return [ChatMessage.text(first.message), ChatMessage.text(second.message)];
    },
    { model },
  );
}

/** Answers the nth call of a model, once it was made. */
async function answer(model: ManualModel, nth: number, text: string): Promise<void> {
  await eventually(`call ${nth} is made`, () => model.calls.length > nth);
  model.calls[nth]?.answer(text);
}

/** Section 12: tenants, agents and tools that are disabled. */
export const switchCases: readonly EngineCase[] = [
  {
    name: "12.1 a disabled agent starts no tree; its runs are held before their next step and go on when it is enabled",
    async run(harness) {
      const model = manualModel();
      const writer = agentWithTwoCalls(freshName("writer"), model);
      const target = { agent: writer.id };
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        await eventually("the first call is made", () => model.calls.length === 1);
        await runtime.switches.disable(target, { reason: "leaks" });
        await assert.rejects(
          runtime.start(writer, "again"),
          (error) => error instanceof DisabledError && error.what === "agent" && error.reason === "leaks",
        );
        await answer(model, 0, "one");
        await reaches(run, "paused");
        assert.equal(model.calls.length, 1);
        assert.equal(await runtime.switches.enable(target), true);
        await answer(model, 1, "two");
        assert.deepEqual((await run.result()).output, ["one", "two"]);
        const events = await historyOf(run);
        const [paused] = only(events, "run.paused");
        assert.deepEqual([paused?.cause, paused?.reason], ["held", `the agent ${writer.id} is disabled`]);
        assert.equal(only(events, "model.start").length, 2);
      });
    },
  },
  {
    name: "12.1 a child of a disabled agent is held, and its parent is not",
    async run(harness) {
      const done: string[] = [];
      const child = agentOf(freshName("child"), async (ctx) => {
        await ctx.step("work", () => void done.push("child"));
        return "done";
      });
      const parent = agentOf("parent", async (ctx) => {
        const spawned = await ctx.spawn(child, "work");
        await ctx.step("more", () => void done.push("parent"));
        return (await ctx.join(spawned)).output;
      });
      await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
        await runtime.switches.disable({ agent: child.id });
        const run = await runtime.start(parent, "go");
        await eventually("the parent goes on", () => done.includes("parent"));
        const { runId } = await waitForEvent(run, "run.paused");
        assert.deepEqual([runId === run.runId, done], [false, ["parent"]]);
        await runtime.switches.enable({ agent: child.id });
        assert.equal((await run.result()).output, "done");
      });
    },
  },
  {
    name: "12.2 disabling a tenant holds all its trees, and no other tenant's",
    async run(harness) {
      const model = manualModel();
      const writer = agentWithTwoCalls("writer", model);
      const [acme, other] = [freshName("acme"), freshName("other")];
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go", { tenant: acme });
        await eventually("the first call is made", () => model.calls.length === 1);
        await runtime.switches.disable({ tenant: acme });
        await assert.rejects(runtime.start(writer, "again", { tenant: acme }), DisabledError);
        await answer(model, 0, "one");
        await reaches(run, "paused");
        const free = await runtime.start(writer, "go", { tenant: other });
        await answer(model, 1, "three");
        await answer(model, 2, "four");
        assert.deepEqual((await free.result()).output, ["three", "four"]);
        assert.equal(await run.status(), "paused");
        await runtime.switches.enable({ tenant: acme });
        await answer(model, 3, "two");
        assert.deepEqual((await run.result()).output, ["one", "two"]);
      });
    },
  },
  {
    name: "12.3 calls of a disabled tool give an error, and work again when it is enabled",
    async run(harness) {
      const sent: string[] = [];
      const name = freshName("send").replaceAll("-", "_");
      const send = effect(name, async () => {
        sent.push("sent");
        return "sent";
      });
      const editor = agentOf(
        "editor",
        async (ctx) => {
          const first = await ctx.tool(name, "hello");
          await ctx.waitFor("enabled");
          const second = await ctx.tool(name, "hello");
          return [first.isError, Json.of(first.content), second.isError];
        },
        { tools: [send] },
      );
      await onRuntime(harness, { agents: [editor] }, async (runtime) => {
        await runtime.switches.disable({ tool: name }, { reason: "spam" });
        const run = await runtime.start(editor, "go");
        await reaches(run, "waiting");
        assert.deepEqual(sent, []);
        await runtime.switches.enable({ tool: name });
        await run.signal("enabled");
        const refusal = `not called: tool ${name} is disabled: spam`;
        assert.deepEqual((await run.result()).output, [true, [ContentBlock.text(refusal)], false]);
        assert.equal(only(await historyOf(run), "permission.denied").length, 1);
      });
    },
  },
  {
    name: "12.4 a run that a person pauses while it is held stays paused when its agent is enabled",
    async run(harness) {
      const model = manualModel();
      const writer = agentWithTwoCalls(freshName("writer"), model);
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        await eventually("the first call is made", () => model.calls.length === 1);
        await runtime.switches.disable({ agent: writer.id });
        await answer(model, 0, "one");
        await reaches(run, "paused");
        await run.pause();
        await runtime.switches.enable({ agent: writer.id });
        assert.equal(await run.status(), "paused");
        await run.resume();
        await answer(model, 1, "two");
        assert.deepEqual((await run.result()).output, ["one", "two"]);
      });
    },
  },
];
