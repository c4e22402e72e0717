import assert from "node:assert/strict";
import { AskFailedError, type AskOutcome, type ChildHandle, type Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

/** Replies to every message with its text, and returns the number of messages. */
const echo = agentOf("echo", async (ctx, inbox) => {
  for (let count = 0; ; count++) {
    const message = await inbox.next({ waitS: 0.05 });
    if (!message) return count;
    await ctx.reply(message, `${message.text}!`);
  }
});

const textOf = (outcome: AskOutcome): string => (outcome.kind === "replied" ? outcome.text : outcome.kind);

/** Sections 6.1 and 6.2: spawning, asking, and the outcomes of a question. */
export const askingCases: readonly EngineCase[] = [
  {
    name: "6.1 spawn does not wait; every join of a child waits for its end",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(writer, "work");
        await ctx.emit("went on");
        const [first, second] = await Promise.all([ctx.join(handle), ctx.join(handle)]);
        return [first.output, second.output, (await ctx.join(handle)).output];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const { child } = await waitForEvent(root, "spawn.admitted");
        await waitForEvent(root, "progress.emitted");
        await reaches(root, "waiting");
        await runtime.run(child).signal("go", "gone");
        assert.deepEqual((await root.result()).output, ["gone", "gone", "gone"]);
      });
    },
  },
  {
    name: "6.1 ask with an agent spawns it and delivers the question once",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const outcome = await ctx.ask(echo, "hello", { timeoutS: 60 });
        return [textOf(outcome), (await ctx.join(outcome.handle)).output];
      });
      await onRuntime(harness, { agents: [lead, echo] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        assert.deepEqual((await root.result()).output, ["hello!", 1]);
        assert.equal(only(await historyOf(root), "spawn.admitted").length, 1);
      });
    },
  },
  {
    name: "6.1 ask on a new handle with the task as first message only waits: the task is delivered once",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(echo, "hello");
        const outcome = await ctx.ask(handle, "hello", { timeoutS: 60 });
        return [textOf(outcome), (await ctx.join(handle)).output];
      });
      await onRuntime(harness, { agents: [lead, echo] }, async (runtime) => {
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, ["hello!", 1]);
      });
    },
  },
  {
    name: "6.1 a reply to the first message that came before the ask is not lost, even if its run has ended",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(echo, "hello");
        const { output } = await ctx.join(handle);
        return [output, textOf(await ctx.ask(handle, "hello", { timeoutS: 60 }))];
      });
      await onRuntime(harness, { agents: [lead, echo] }, async (runtime) => {
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, [1, "hello!"]);
      });
    },
  },
  {
    name: "6.1 another question to the same handle is another delivery",
    async run(harness) {
      const patient = agentOf("patient", async (ctx, inbox) => {
        const answered: string[] = [];
        while (answered.length < 3) {
          const message = await inbox.next({ waitS: 60 });
          if (!message) break;
          answered.push(message.text);
          await ctx.reply(message, `${message.text}!`);
        }
        return answered;
      });
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(patient, "a");
        const replies = [
          textOf(await ctx.ask(handle, "b", { timeoutS: 60 })),
          textOf(await ctx.ask(handle, "b", { timeoutS: 60 })),
        ];
        return [replies, (await ctx.join(handle)).output];
      });
      await onRuntime(harness, { agents: [lead, patient] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, [
          ["b!", "b!"],
          ["a", "b", "b"],
        ]);
      });
    },
  },
  {
    name: "6.2 replied has text and data; endedWithoutReply, failed and cancelled have the run's result",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        const message = await inbox.next();
        if (message?.text === "reply") await ctx.reply(message, "yes", { sure: true });
        if (message?.text === "fail") throw new Error("broken");
        if (message?.text === "wait") await ctx.waitFor("never");
        return "output";
      });
      const lead = agentOf("lead", async (ctx) => {
        const ask = (text: string): Promise<AskOutcome> => ctx.ask(writer, text, { timeoutS: 60 });
        const replied = await ask("reply");
        const silent = await ask("silent");
        const failed = await ask("fail");
        const cancelled = await ask("wait");
        return [
          replied.kind === "replied" && [replied.text, replied.data ?? null],
          silent.kind === "endedWithoutReply" && silent.result.output,
          failed.kind === "failed" && (failed.error?.message ?? null),
          cancelled.kind === "cancelled" && cancelled.result.status,
        ];
      });
      await onRuntime(harness, { agents: [lead, writer], maxRestarts: 0 }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const admitted = await nth(root, 4);
        await reaches(runtime.run(admitted), "waiting");
        await runtime.run(admitted).cancel();
        const { output } = await root.result();
        assert.deepEqual(output, [["yes", { sure: true }], "output", "broken", "cancelled"]);
      });
    },
  },
  {
    name: "6.2 after timedOut the child continues, and its handle stays usable",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));
      const lead = agentOf("lead", async (ctx) => {
        const outcome = await ctx.ask(writer, "question", { timeoutS: 0.05 });
        const status = await ctx.status(outcome.handle);
        await ctx.emit("timed out");
        return [outcome.kind, status, (await ctx.join(outcome.handle)).output];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        await waitForEvent(root, "progress.emitted");
        await runtime.run(await nth(root, 1)).signal("go", "late");
        assert.deepEqual((await root.result()).output, ["timedOut", "waiting", "late"]);
      });
    },
  },
  {
    name: "6.2 a late reply never answers a later ask",
    async run(harness) {
      const slow = agentOf("slow", async (ctx, inbox) => {
        const first = await inbox.next();
        const second = await inbox.next({ waitS: 60 });
        if (first) await ctx.reply(first, "to the first");
        await ctx.waitFor("go");
        if (second) await ctx.reply(second, "to the second");
      });
      const lead = agentOf("lead", async (ctx) => {
        const early = await ctx.ask(slow, "first", { timeoutS: 0.05 });
        return [early.kind, textOf(await ctx.ask(early.handle, "second", { timeoutS: 60 }))];
      });
      await onRuntime(harness, { agents: [lead, slow] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run(await nth(root, 1));
        await waitForEvent(root, "message.sent");
        await run.signal("go");
        assert.deepEqual((await root.result()).output, ["timedOut", "to the second"]);
      });
    },
  },
  {
    name: "6.2 askOrThrow returns the reply, or throws the error of any other outcome",
    async run(harness) {
      const silent = agentOf("silent", async () => null);
      const deaf = agentOf("deaf", async (ctx) => ctx.waitFor("never"));
      const lead = agentOf("lead", async (ctx) => {
        const reply = await ctx.askOrThrow(echo, "hello", { timeoutS: 60 });
        return [
          reply.text,
          await refusal(ctx.askOrThrow(silent, "hello", { timeoutS: 60 })),
          await refusal(ctx.askOrThrow(deaf, "hello", { timeoutS: 0.05 })),
        ];
      });
      await onRuntime(harness, { agents: [lead, echo, silent, deaf] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["hello!", "endedWithoutReply", "timedOut"]);
      });
    },
  },
];

function refusal(asking: Promise<{ readonly handle: ChildHandle }>): Promise<Json> {
  return asking.then(
    () => "replied",
    (error: unknown) => (error instanceof AskFailedError ? error.outcome : "another error"),
  );
}

/** The `n`-th run that was admitted, once it was. */
async function nth(root: Parameters<typeof waitForEvent>[0], n: number): Promise<ChildHandle["runId"]> {
  let count = 0;
  return (await waitForEvent(root, "spawn.admitted", () => ++count === n)).child;
}
