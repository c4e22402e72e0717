import assert from "node:assert/strict";
import { Json, RunId, Supervision, type Agent, type ChildHandle, type RunContext } from "#kernel";
import {
  calls,
  unrestrictedAgent,
  labelCase,
  assertMailRefused,
  assertMailSent,
  type Desk,
} from "./label-desk.ts";
import { forever, type EngineCase } from "./harness.ts";

/** Mails when it is asked to. */
const mailer = (made: Desk): Agent =>
  unrestrictedAgent("mailer", made, async (ctx, inbox) => {
    for await (const message of inbox) await ctx.reply(message, await calls(ctx, "read_secret", "mail"));
    return null;
  });
/** Reads the web, and passes the result on in one of three ways. */
const reader = (made: Desk, answer: "reply" | "return" | "emit"): Agent =>
  unrestrictedAgent("reader", made, async (ctx, inbox) => {
    const task = await inbox.next();
    await calls(ctx, "read_web");
    if (answer === "reply" && task) await ctx.reply(task, "read");
    if (answer === "emit") await ctx.emit("read");
    // It stays alive, so that the labels come from its message and not from its end.
    return answer === "return" ? "read" : forever(ctx);
  });

/** Sends mail on request, and replies with the outcome. */
const waiter = (made: Desk): Agent =>
  unrestrictedAgent("waiter", made, async (ctx, inbox) => {
    const message = await inbox.next();
    const text = await calls(ctx, "read_secret", "mail");
    if (message?.from.kind === "run") await ctx.send(message.from.runId, text);
    return null;
  });

async function eventuallyEnded(ctx: RunContext, handle: ChildHandle): Promise<void> {
  for (let tries = 0; (await ctx.status(handle)) !== "completed"; tries++)
    await ctx.sleepUntil((await ctx.now()) + 5);
}

/** A run's labels follow its content: down with tasks and messages, up with replies, results and topics. */
export const labelCases: readonly EngineCase[] = [
  labelCase(
    "7.5 labels name their sources: the first call of each tool by each run, also a child's, through a crash and continueAs",
    (made) => {
      let crashes = 0;
      const lead = unrestrictedAgent("lead", made, async (ctx) => {
        if (ctx.state === null) {
          await calls(ctx, "read_secret", "read_secret");
          return ctx.continueAs(1);
        }
        const child = await ctx.spawn(reader(made, "return"), "read");
        await ctx.join(child);
        await ctx.step("look", () => "a page", { labels: { untrusted: true } });
        if (crashes++ === 0) throw new Error("crash");
        return (ctx.labels.sources ?? []).map(({ kind, name, runId, stepId }) => {
          const number = runId?.slice(ctx.supervision.treeId.length) ?? null;
          return [kind, name, number, stepId?.slice(ctx.supervision.treeId.length) ?? null];
        });
      });
      return [lead, reader(made, "return")];
    },
    (output) =>
      assert.deepEqual(output, [
        ["tool", "read_secret", "~0", "~0:tool:1"],
        ["tool", "read_web", "~1", "~1:tool:1"],
        ["step", "look", "~0", null],
      ]),
  ),
  labelCase(
    "7.5 labels name twenty sources at most",
    (made) => [
      unrestrictedAgent("writer", made, async (ctx) => {
        for (let number = 1; number <= 25; number++)
          await ctx.step(`read.${number}`, () => null, { labels: { untrusted: true } });
        return (ctx.labels.sources ?? []).map(({ name }) => name);
      }),
    ],
    (output) =>
      assert.deepEqual(
        output,
        Array.from({ length: 20 }, (_, index) => `read.${index + 1}`),
      ),
  ),
  labelCase(
    "7.5 a run that reads the result of a run it did not spawn gets that run's labels",
    (made) => {
      const other = unrestrictedAgent("joiner", made, async (ctx) => {
        const runId = RunId.of(ctx.supervision.treeId, 2);
        const handle = { runId, agentId: reader(made, "return").id, firstMessage: null };
        await eventuallyEnded(ctx, handle);
        await ctx.join(handle);
        return calls(ctx, "read_secret", "mail");
      });
      const lead = unrestrictedAgent("lead", made, async (ctx) => {
        const joiner = await ctx.spawn(other, "join");
        await ctx.spawn(reader(made, "return"), "read");
        return (await ctx.join(joiner)).output;
      });
      return [lead, other, reader(made, "return")];
    },
    assertMailRefused,
  ),
  labelCase(
    "7.5 a task carries the parent's labels to the child",
    (made) => [
      unrestrictedAgent("lead", made, async (ctx) => {
        await calls(ctx, "read_web");
        return (await ctx.askOrThrow(mailer(made), "mail it", { timeoutS: 30 })).text;
      }),
      mailer(made),
    ],
    assertMailRefused,
  ),
  labelCase(
    "7.5 a child spawned before its parent has any label may mail its own content",
    (made) => [
      unrestrictedAgent("lead", made, async (ctx) => {
        const writer = await ctx.spawn(mailer(made), "mail it");
        await calls(ctx, "read_web");
        const answer = await ctx.ask(writer, "mail it", { timeoutS: 30 });
        return answer.kind === "replied" ? answer.text : answer.kind;
      }),
      mailer(made),
    ],
    assertMailSent,
  ),
  labelCase(
    "7.5 messages carry their sender's labels, even to a run that they wake",
    (made) => [
      unrestrictedAgent("lead", made, async (ctx, inbox) => {
        await inbox.next();
        await calls(ctx, "read_web");
        await ctx.send(waiter(made).id, "mail it");
        return (await inbox.next({ waitS: 30 }))?.text ?? null;
      }),
      waiter(made),
    ],
    assertMailRefused,
  ),
  ...(["reply", "return"] as const).map((answer) =>
    labelCase(
      `7.5 a child's labels reach its parent: by ${answer}`,
      (made) => [
        unrestrictedAgent("lead", made, async (ctx) => {
          await ctx.ask(reader(made, answer), "read", { timeoutS: 30 });
          return calls(ctx, "read_secret", "mail");
        }),
        reader(made, answer),
      ],
      assertMailRefused,
    ),
  ),
  labelCase(
    "7.5 a child's labels reach its parent: by a message to a topic",
    (made) => [
      unrestrictedAgent("lead", made, async (ctx) => {
        const topic = Supervision.progressTopic(ctx.supervision);
        const told = ctx.subscribe(topic)[Symbol.asyncIterator]();
        const first = told.next();
        await ctx.spawn(reader(made, "emit"), "read", { detached: true });
        await first;
        return calls(ctx, "read_secret", "mail");
      }),
      reader(made, "emit"),
    ],
    assertMailRefused,
  ),
  labelCase(
    "7.5 the labels of an ended child reach the run that reads its result",
    (made) => [
      unrestrictedAgent("lead", made, async (ctx) => {
        if (ctx.state === null) {
          const handle = await ctx.spawn(reader(made, "return"), "read");
          await eventuallyEnded(ctx, handle);
          return ctx.continueAs(Json.of(handle));
        }
        await ctx.join(Json.as<ChildHandle>(ctx.state));
        return calls(ctx, "read_secret", "mail");
      }),
      reader(made, "return"),
    ],
    assertMailRefused,
  ),
];
