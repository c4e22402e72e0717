import assert from "node:assert/strict";
import { agent } from "#agents";
import { Ended, Json, type ChildHandle } from "#kernel";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";

/** Outputs with the fields of an end, of a partial end, and of a continuation. */
const lookalikes: readonly Json[] = [
  { kind: "ended", status: "failed", stopReason: "error", output: "forged" },
  { kind: "ended", who: "the meeting" },
  { kind: "continue-as", state: { from: "the JSON of a model" } },
];

/** A run that goes on in a fresh execution. */
export const continueCases: readonly EngineCase[] = [
  {
    name: "5.1 data that looks like an end or a continuation is the run's output",
    async run(harness) {
      let executions = 0;
      const agents = lookalikes.map((output, index) =>
        agentOf(`agent-${index}`, async () => (++executions > 20 ? "executed again and again" : output)),
      );
      await onRuntime(harness, { agents }, async (runtime) => {
        for (const [index, lookalike] of agents.entries()) {
          const { status, stopReason, output } = await (await runtime.start(lookalike, "go")).result();
          assert.deepEqual([status, stopReason, output], ["completed", "answer", lookalikes[index]]);
        }
      });
    },
  },
  {
    name: "5.1 an agent says how its run ended with Ended.of",
    async run(harness) {
      const lead = agentOf("lead", async () =>
        Ended.of({ status: "landed", stopReason: "budget.tokens", output: "so far" }),
      );
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { status, stopReason, output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, stopReason, output], ["landed", "budget.tokens", "so far"]);
      });
    },
  },
  {
    name: "5.1 continueAs passes its state on and begins with an empty journal, as the same run",
    async run(harness) {
      const executed: string[] = [];
      const ids = new Set<string>();
      const lead = agentOf("lead", async (ctx) => {
        const life = typeof ctx.state === "number" ? ctx.state : 0;
        ids.add(ctx.supervision.runId);
        await ctx.step("work", ({ idempotencyKey }) => void executed.push(`${life} ${idempotencyKey}`));
        ctx.record("flow.start", { flow: `life ${life}` });
        return life < 4 ? ctx.continueAs(life + 1) : life;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { status, output } = await run.result();
        assert.deepEqual([status, output, ids], ["completed", 4, new Set([run.runId])]);
        const events = await historyOf(run);
        assert.deepEqual([only(events, "run.start").length, only(events, "run.end").length], [1, 1]);
        assert.equal(
          new Set(events.map(({ eventId }) => eventId)).size,
          events.length,
          "each has its own id",
        );
      });
      assert.deepEqual(
        executed.map((line) => line.slice(0, 1)),
        ["0", "1", "2", "3", "4"],
      );
      assert.equal(new Set(executed.map((line) => line.slice(2))).size, 5, "each life has its own keys");
    },
  },
  {
    name: "5.1 messages that arrive around continueAs reach the next execution, each once and in order",
    async run(harness) {
      const lead = agentOf("lead", async (ctx, inbox) => {
        const lives = typeof ctx.state === "number" ? ctx.state : 0;
        if (lives === 0) await inbox.next();
        if (lives < 5) {
          await ctx.step("work", () => new Promise<void>((resolve) => setTimeout(resolve, 4)));
          return ctx.continueAs(lives + 1);
        }
        const heard: Json[] = [];
        for (let index = 0; index < 10; index++) heard.push(await ctx.waitFor("signal"));
        for (let index = 0; index < 10; index++) heard.push((await inbox.next({ waitS: 60 }))?.text ?? null);
        heard.push(await ctx.waitFor("signal", { timeoutS: 0.01 }), (await inbox.next())?.text ?? null);
        return [
          ...heard,
          inbox.takeSteering().map(({ text }) => text),
          inbox.takeFollowUps().map(({ text }) => text),
        ];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const one = async (): Promise<void> => {
          const run = await runtime.start(lead, "go");
          await run.steer("faster");
          await run.followUp("and then");
          for (let index = 0; index < 10; index++) {
            await run.signal("signal", index);
            await run.send(`message ${index}`);
          }
          const signals = Array.from({ length: 10 }, (_, index) => index);
          const messages = signals.map((index) => `message ${index}`);
          const { output } = await run.result();
          assert.deepEqual(output, [...signals, ...messages, null, null, ["faster"], ["and then"]]);
        };
        await Promise.all(Array.from({ length: 8 }, one));
      });
    },
  },
  {
    name: "5.1 children survive continueAs and can be joined after it, even if they ended during it",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        const task = await inbox.next();
        if (task?.text === "slow") await ctx.waitFor("finish");
        return task?.text ?? null;
      });
      const lead = agentOf("lead", async (ctx) => {
        if (ctx.state === null) {
          const quick = await ctx.spawn(writer, "quick");
          const slow = await ctx.spawn(writer, "slow");
          await ctx.waitFor("go");
          return ctx.continueAs(Json.of([quick, slow]));
        }
        const handles = Json.as<readonly ChildHandle[]>(ctx.state);
        await ctx.emit("second life");
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.map(({ status, output }) => [status, output]);
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const quick = await waitForEvent(run, "run.end");
        await run.signal("go");
        await waitForEvent(run, "progress.emitted");
        const isSlow = (id: string): boolean => id !== run.runId && id !== quick.runId;
        const { runId } = await waitForEvent(run, "run.start", (event) => isSlow(event.runId));
        await runtime.run(runId).signal("finish");
        assert.deepEqual((await run.result()).output, [
          ["completed", "quick"],
          ["completed", "slow"],
        ]);
      });
    },
  },
  {
    name: "6.1 a task given with spawn is delivered once, even if it is asked for after continueAs",
    async run(harness) {
      const heard: string[] = [];
      const child = agentOf("child", async (ctx, inbox) => {
        for (let message = await inbox.next(); message; message = await inbox.next()) {
          const { text } = message;
          await ctx.step("hear", () => void heard.push(text));
          await ctx.reply(message, `did ${text}`);
        }
        return "over";
      });
      const lead = agentOf("lead", async (ctx, inbox) => {
        const joins = (await inbox.next())?.text === "join";
        if (ctx.state === null) {
          const handle = await ctx.spawn(child, "pay the bill");
          // A run that has ended has replied: the reply waits for the ask through continueAs.
          if (joins) await ctx.join(handle);
          return ctx.continueAs(Json.of({ handle }));
        }
        const { handle } = Json.as<{ handle: ChildHandle }>(ctx.state);
        const outcome = await ctx.ask(handle, "pay the bill", { timeoutS: 20 });
        return outcome.kind === "replied" ? outcome.text : outcome.kind;
      });
      await onRuntime(harness, { agents: [lead, child] }, async (runtime) => {
        for (const input of ["go", "join"]) {
          heard.length = 0;
          const { output } = await (await runtime.start(lead, input)).result();
          assert.deepEqual([output, heard], ["did pay the bill", ["pay the bill"]]);
        }
      });
    },
  },
  {
    name: "4.1 a run that calls continueAs without end can be cancelled",
    async run(harness) {
      let lives = 0;
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("work", () => void (lives += 1));
        return ctx.continueAs(null);
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const cancelOne = async (): Promise<void> => {
          const run = await runtime.start(lead, "go");
          const before = lives;
          await eventually("it has lived a few times", () => lives > before + 20);
          const receipt = await run.cancel("enough");
          assert.deepEqual(
            receipt.runs.map(({ runId }) => runId),
            [run.runId],
          );
          const { status, stopReason } = await run.result();
          assert.deepEqual([status, stopReason], ["cancelled", "cancelled"]);
        };
        await Promise.all(Array.from({ length: 6 }, cancelOne));
        const after = lives;
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.equal(lives, after);
      });
    },
  },
  {
    name: "5.1 a long turn of an agent continues in fresh executions, without a visible difference",
    async run(harness) {
      const looked: Json[] = [];
      const look = effect("look", async (input) => {
        looked.push(input);
        return `saw ${JSON.stringify(input)}`;
      });
      const cycles = 7;
      const looks = Array.from({ length: cycles - 2 }, (_, index) => call("look", { index: index + 1 }));
      const model = scriptedModel([call("look", { index: 0 }), ...looks, say("all seen")]);
      const looker = agent({ name: "looker", model, tools: [look], continueAfter: 3 });
      await onRuntime(harness, { agents: [looker] }, async (runtime) => {
        const run = await runtime.start(looker, "look around", { budget: { maxTokens: 50_000 } });
        const { status, output, usage } = await run.result();
        assert.deepEqual([status, output, usage.output], ["completed", "all seen", cycles * 5]);
        const events = await historyOf(run);
        assert.deepEqual(
          only(events, "cycle.start").map(({ step }) => step),
          Array.from({ length: cycles }, (_, index) => index + 1),
        );
        assert.deepEqual([only(events, "turn.start").length, only(events, "turn.end").length], [1, 1]);
      });
      assert.deepEqual(
        looked,
        Array.from({ length: cycles - 1 }, (_, index) => ({ index })),
      );
      const asked = model.requests.at(-1)?.messages.map(({ role }) => role) ?? [];
      assert.deepEqual(asked, [
        "user",
        ...Array.from({ length: cycles - 1 }, () => ["assistant", "tool"]).flat(),
      ]);
    },
  },
];
