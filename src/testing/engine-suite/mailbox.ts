import assert from "node:assert/strict";
import type { Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";

/** Reads messages until one is `end`, publishes each, and returns their texts. */
export const reader = agentOf("reader", async (ctx, inbox) => {
  const texts: string[] = [];
  for (;;) {
    const message = await inbox.next({ waitS: 60 });
    if (!message || message.text === "end") return texts;
    texts.push(message.text);
    await ctx.emit(message.text);
  }
});

/** Sections 6.3 and 6.4: what arrives, how often, in which order, and whom it wakes. */
export const mailboxCases: readonly EngineCase[] = [
  {
    name: "6.3 a message sent twice under one id is delivered once, even after it was handled",
    async run(harness) {
      await onRuntime(harness, { agents: [reader] }, async (runtime) => {
        const root = await runtime.start(reader, "boot");
        await Promise.all(Array.from({ length: 5 }, () => root.send("once", { id: "m1" })));
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "once");
        await root.send("once", { id: "m1" });
        await root.send("other", { id: "m2" });
        await root.send("end");
        assert.deepEqual((await root.result()).output, ["boot", "once", "other"]);
      });
    },
  },
  {
    name: "6.3 order is kept per sender, and no sender starves another",
    async run(harness) {
      const busy = agentOf("busy", async (ctx, inbox) => {
        await inbox.next();
        await ctx.waitFor("all are there");
        const texts: string[] = [];
        for (let next = await inbox.next(); next; next = await inbox.next()) texts.push(next.text);
        return texts;
      });
      await onRuntime(harness, { agents: [busy] }, async (runtime) => {
        const root = await runtime.start(busy, "boot");
        const many = Array.from({ length: 80 }, (_, index) => `many-${index}`);
        for (const text of many) {
          await root.send(text, { from: "loud" });
        }
        await root.send("few-0", { from: "quiet" });
        await root.send("few-1", { from: "quiet" });
        await root.signal("all are there");
        const { output } = await root.result();
        assert.ok(Array.isArray(output));
        assert.deepEqual(
          output.filter((text) => many.includes(String(text))),
          many,
        );
        assert.deepEqual(output.slice(0, 4), ["many-0", "few-0", "many-1", "few-1"]);
      });
    },
  },
  {
    name: "6.3 concurrent reads of an inbox deliver more items than one reply holds, in order",
    async run(harness) {
      const idle = agentOf("idle", (ctx) => ctx.waitFor("end"));
      const late = agentOf("late", async (ctx, inbox) => {
        await inbox.next();
        await Promise.all([inbox.next(), inbox.next()]);
        const values: Json[] = [];
        while (values.length < 100) values.push(await ctx.waitFor("news"));
        return values;
      });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.spawn(idle, "stay");
        return (await ctx.join(await ctx.spawn(late, "count", { onFull: "wait" }))).output;
      });
      await onRuntime(harness, { agents: [lead, late, idle] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
        const blocker = await waitForEvent(root, "spawn.admitted");
        const queued = await waitForEvent(root, "spawn.queued");
        const values = Array.from({ length: 100 }, (_, index) => index);
        // The run is still queued, so all signals stay in its inbox.
        for (const value of values) await runtime.run(queued.child).signal("news", value);
        await runtime.run(blocker.child).signal("end");
        assert.deepEqual((await root.result()).output, values);
      });
    },
  },
  {
    name: "6.3 an early signal is kept, each signal counts, and the same id counts once",
    async run(harness) {
      const agent = agentOf("agent", async (ctx) => {
        await ctx.waitFor("go");
        const values: Json[] = [await ctx.waitFor("news"), await ctx.waitFor("news")];
        return [...values, await ctx.waitFor("news", { timeoutS: 0.05 })];
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.signal("news", "first", { id: "s1" });
        await root.signal("news", "first", { id: "s1" });
        await root.signal("news", "second", { id: "s2" });
        await root.signal("go");
        assert.deepEqual((await root.result()).output, ["first", "second", null]);
        await assert.rejects(root.signal("news"), { code: "run-ended" });
      });
    },
  },
  {
    name: "6.3 one id counts once for each kind of delivery and each name of a signal",
    async run(harness) {
      const waiter = agentOf("waiter", async (ctx, inbox) => {
        const signals = [await ctx.waitFor("paid"), await ctx.waitFor("shipped")];
        await ctx.waitFor("all is said");
        return [...signals, inbox.takeSteering().length, inbox.takeFollowUps().length];
      });
      await onRuntime(harness, { agents: [waiter] }, async (runtime) => {
        const run = await runtime.start(waiter, "go");
        for (const once of [{ id: "1" }, { id: "1" }]) {
          await run.steer("faster", once);
          await run.followUp("then rest", once);
          await run.signal("paid", "yes", once);
          await run.signal("shipped", "yes", once);
        }
        await run.signal("all is said");
        assert.deepEqual((await run.result()).output, ["yes", "yes", 1, 1]);
      });
    },
  },
  {
    name: "6.4 a message to an agent goes to its oldest live run",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const [older, younger] = [await ctx.spawn(reader, "older"), await ctx.spawn(reader, "younger")];
        await ctx.send(reader.id, "to whom?");
        await ctx.send(older, "end");
        await ctx.send(younger, "end");
        return [(await ctx.join(older)).output, (await ctx.join(younger)).output];
      });
      await onRuntime(harness, { agents: [lead, reader] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, [["older", "to whom?"], ["younger"]]);
      });
    },
  },
  {
    name: "6.4 a message to an agent with no live run wakes a new one, on the agent's own terms",
    async run(harness) {
      const terms = { version: "7", priority: "low", retention: "none", budget: { maxTurns: 2 } } as const;
      const woken = agentOf(
        "woken",
        async (ctx, inbox) => {
          const message = await inbox.next();
          const { priority, retention, executionBudget } = ctx.supervision;
          await ctx.emit([message?.text ?? null, priority, retention, executionBudget.maxTurns ?? null]);
        },
        terms,
      );
      const lead = agentOf("lead", async (ctx) => {
        await ctx.send(woken.id, "good morning");
        await ctx.waitFor("end");
      });
      await onRuntime(harness, { agents: [lead, woken] }, async (runtime) => {
        const root = await runtime.start(lead, "go", { priority: "critical" });
        const { data, runId } = await waitForEvent(root, "progress.emitted");
        assert.deepEqual(data, ["good morning", "low", "none", 2]);
        assert.equal((await runtime.run(runId).result()).status, "completed");
        await root.signal("end");
        await root.result();
      });
    },
  },
  {
    name: "6.4 a message to a run that has ended wakes a new run of its agent",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(reader, "first");
        await ctx.send(handle, "end");
        const { output } = await ctx.join(handle);
        await ctx.send(handle, "again");
        await ctx.waitFor("end");
        return output;
      });
      await onRuntime(harness, { agents: [lead, reader] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const first = await waitForEvent(root, "progress.emitted", ({ data }) => data === "first");
        const again = await waitForEvent(root, "progress.emitted", ({ data }) => data === "again");
        assert.notEqual(first.runId, again.runId);
        await root.signal("end");
        assert.deepEqual((await root.result()).output, ["first"]);
      });
    },
  },
  {
    name: "6.4 a question to a run that has ended is answered by a new run of its agent",
    async run(harness) {
      const echo = agentOf("echo", async (ctx, inbox) => {
        for await (const message of inbox) await ctx.reply(message, `${message.text}!`);
      });
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(echo, "first");
        await ctx.join(handle);
        const outcome = await ctx.ask(handle, "second", { timeoutS: 60 });
        return [outcome.kind === "replied" && outcome.text, outcome.handle.runId === handle.runId];
      });
      await onRuntime(harness, { agents: [lead, echo] }, async (runtime) => {
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, ["second!", false]);
      });
    },
  },
  {
    name: "6.4 messages that arrive while a run is ending wake a new run of that agent, and none is lost",
    async run(harness) {
      const gate = Promise.withResolvers<void>();
      const writer = agentOf("writer", async (ctx, inbox) => {
        const texts: string[] = [];
        for await (const message of inbox) texts.push(message.text);
        await ctx.emit(texts);
        await ctx.step("ending", () => gate.promise);
      });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.join(await ctx.spawn(writer, "task"));
        await ctx.waitFor("end");
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const first = await waitForEvent(root, "progress.emitted");
        await runtime.run(first.runId).send("late");
        await runtime.run(first.runId).send("later");
        gate.resolve();
        const seen = new Set<string>();
        const isHeard = async (): Promise<boolean> => {
          const second = await waitForEvent(root, "progress.emitted", ({ runId, data }) => {
            if (runId !== first.runId && Array.isArray(data)) for (const text of data) seen.add(String(text));
            return seen.has("later");
          });
          return second.runId !== first.runId;
        };
        assert.deepEqual([first.data, await isHeard(), [...seen]], [["task"], true, ["late", "later"]]);
        await root.signal("end");
        await root.result();
      });
    },
  },
  {
    name: "6.4 the task of a run starts no other run, even if its run never reads it",
    async run(harness) {
      const deaf = agentOf("deaf", async () => null);
      const lead = agentOf("lead", async (ctx) => {
        await ctx.join(await ctx.spawn(deaf, "unheard"));
        await ctx.send(deaf.id, "unheard, too");
        await ctx.waitFor("end");
      });
      await onRuntime(harness, { agents: [lead, deaf] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        let ends = 0;
        await waitForEvent(root, "run.end", ({ agent }) => agent === deaf.id && ++ends === 2);
        await root.signal("end");
        const events = await historyOf(root);
        assert.equal(only(events, "run.start").filter(({ agent }) => agent === deaf.id).length, 2);
      });
    },
  },
];
