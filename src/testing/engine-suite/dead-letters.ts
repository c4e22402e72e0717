import assert from "node:assert/strict";
import { AgentId, type Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";
import { reader } from "./mailbox.ts";

/** Sections 6.4 and 6.5: messages that will not be read, and messages that cannot be read. */
export const deadLetterCases: readonly EngineCase[] = [
  {
    name: "6.4 a message to a tree that has ended is dead-lettered",
    async run(harness) {
      await onRuntime(harness, { agents: [reader] }, async (runtime) => {
        const root = await runtime.start(reader, "boot");
        await root.send("end");
        await root.result();
        await root.send("too late", { id: "late" });
        const [letter] = only(await historyOf(root), "message.dead-lettered");
        assert.deepEqual(
          [letter?.messageId, letter?.reason, letter?.agent],
          ["late", "tree-ended", reader.id],
        );
      });
    },
  },
  {
    name: "6.4 a message to an unknown agent is dead-lettered, and the tree goes on",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        await ctx.send(AgentId.of("unknown"), "hello?");
        return "went on";
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        assert.equal((await root.result()).output, "went on");
        const [letter] = only(await historyOf(root), "message.dead-lettered");
        assert.equal(letter?.reason, "no-such-agent");
      });
    },
  },
  {
    name: "6.4 a message whose new run can never get a slot is dead-lettered",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        await ctx.send(reader.id, "hello");
        await ctx.waitFor("end");
      });
      await onRuntime(harness, { agents: [lead, reader] }, async (runtime) => {
        const alone = await runtime.start(lead, "go", { spawn: { maxAgents: 1 } });
        assert.equal((await waitForEvent(alone, "message.dead-lettered")).reason, "would-deadlock");
        await alone.signal("end");
        await alone.result();
        const full = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        assert.equal((await waitForEvent(full, "progress.emitted")).data, "hello");
        await full.signal("end");
        await full.result();
      });
    },
  },
  {
    name: "6.4 the unread messages of a cancelled run are dead-lettered",
    async run(harness) {
      const busy = agentOf("busy", async (ctx) => ctx.waitFor("never"));
      const lead = agentOf("lead", async (ctx) => (await ctx.join(await ctx.spawn(busy, "task"))).status);
      await onRuntime(harness, { agents: [lead, busy] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await run.send("unread", { id: "m1" });
        await run.cancel();
        assert.equal((await root.result()).output, "cancelled");
        const letters = only(await historyOf(root), "message.dead-lettered");
        assert.deepEqual(
          letters.map(({ messageId, reason }) => [messageId, reason]),
          [["m1", "cancelled"]],
        );
      });
    },
  },
  {
    name: "6.5 a poison message is retried by policy, then dead-lettered with reason and attempts; the run ends failed",
    async run(harness) {
      const victim = agentOf("victim", async (_ctx, inbox) => {
        for await (const message of inbox)
          if (message.text === "poison") throw new Error("cannot stomach it");
        return "never completed";
      });
      await onRuntime(harness, { agents: [victim], maxRestarts: 2 }, async (runtime) => {
        const root = await runtime.start(victim, "poison");
        const { status, error, output } = await root.result();
        assert.deepEqual([status, error?.message, output], ["failed", "cannot stomach it", null]);
        const letters = only(await historyOf(root), "message.dead-lettered");
        assert.deepEqual(
          letters.map(({ reason, attempts, runId }) => [reason, attempts, runId]),
          [["cannot stomach it", 3, root.runId]],
        );
      });
    },
  },
  {
    name: "6.5 a message that goes down at a second try is not a dead letter",
    async run(harness) {
      const crashed = new Set<string>();
      const agent = agentOf("agent", async (ctx, inbox) => {
        const texts: Json[] = [];
        for await (const message of inbox) {
          if (message.text === "hard" && !crashed.has("once")) {
            crashed.add("once");
            throw new Error("the first try");
          }
          texts.push(message.text);
        }
        await ctx.emit(texts);
        return texts;
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "hard");
        assert.deepEqual((await root.result()).output, ["hard"]);
        assert.deepEqual(only(await historyOf(root), "message.dead-lettered"), []);
      });
    },
  },
  {
    name: "6.5 the messages behind a poison message are read by a new run",
    async run(harness) {
      const gate = Promise.withResolvers<void>();
      const victim = agentOf("victim", async (ctx, inbox) => {
        await ctx.step("ready", () => gate.promise);
        for await (const message of inbox) {
          if (message.text === "poison") throw new Error("cannot stomach it");
          await ctx.emit(message.text);
        }
      });
      const lead = agentOf("lead", async (ctx) => {
        const { status } = await ctx.join(await ctx.spawn(victim, "poison"));
        await ctx.waitFor("end");
        return status;
      });
      await onRuntime(harness, { agents: [lead, victim], maxRestarts: 1 }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await run.send("food");
        gate.resolve();
        const { runId } = await waitForEvent(root, "progress.emitted", ({ data }) => data === "food");
        assert.notEqual(runId, run.runId);
        await root.signal("end");
        assert.equal((await root.result()).output, "failed");
      });
    },
  },
];
