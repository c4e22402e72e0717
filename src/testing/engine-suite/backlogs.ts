import assert from "node:assert/strict";
import { BacklogFullError, TopicId, type Json, type RunContext, type Tool } from "#kernel";
import { waitForQuestions } from "./approvals.ts";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { waitForEvent } from "./history.ts";

/** The limit, and an upper bound of what is accepted: a run reports what it took last only with its next call. */
const [limit, most] = [10, 50];

/** Sends until it is refused. Returns the number of what was accepted. */
async function fill(send: (number: number) => Promise<void>): Promise<number> {
  for (let number = 0; number <= most; number++)
    try {
      await send(number);
    } catch (error) {
      assert.ok(error instanceof BacklogFullError, String(error));
      assert.deepEqual([error.limit, error.unit], [limit, "messages"]);
      return number;
    }
  throw new Error("nothing was refused");
}

const assertNearLimit = (accepted: number): void =>
  assert.ok(accepted >= limit && accepted <= most, `${accepted} were accepted`);

const numbersBelow = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, number) => number);

const signalled = agentOf("signalled", (ctx) => ctx.waitFor("end"));

/** Reads so many signals after another run has ended. */
async function readAfter(ctx: RunContext, count: (output: Json) => number): Promise<Json> {
  const { output } = await ctx.join(await ctx.spawn(signalled, "wait"));
  const read: Json[] = [];
  while (read.length < count(output)) read.push(await ctx.waitFor("note"));
  await ctx.emit("all read");
  read.push(await ctx.waitFor("note"));
  return read;
}

/** Sections 1.3, 6.11 and 7.6: what waits to be read or decided is bounded. */
export const backlogCases: readonly EngineCase[] = [
  {
    name: "6.11 what is sent to a run that does not read is refused from a limit on, until the run has read",
    async run(harness) {
      const reader = agentOf("reader", (ctx) => readAfter(ctx, Number));
      const backlogs = { inboxMessages: limit };
      await onRuntime(harness, { agents: [reader, signalled], backlogs }, async (runtime) => {
        const root = await runtime.start(reader, "go");
        const child = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        const send = (number: number): Promise<void> => root.signal("note", number, { id: `n${number}` });
        const accepted = await fill(send);
        assertNearLimit(accepted);
        // What was accepted before is not refused when it is sent again.
        await send(0);
        await assert.rejects(root.steer("stop"), { code: "backlog-full" });
        await child.signal("end", accepted);
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "all read");
        await send(accepted);
        assert.deepEqual((await root.result()).output, numbersBelow(accepted + 1));
      });
    },
  },
  {
    name: "6.11 a run whose message is refused gets an error, and a larger message alone is accepted",
    async run(harness) {
      const reader = agentOf("reader", async (_, inbox) => {
        const first = await inbox.next();
        return first?.text.length ?? 0;
      });
      const writer = agentOf("writer", async (ctx) => {
        const { runId } = await ctx.spawn(signalled, "wait");
        const accepted = await fill((number) => ctx.send(runId, `message ${number}`));
        await ctx.cancel(runId, "enough");
        return accepted;
      });
      const backlogs = { inboxMessages: limit, inboxCharacters: 1_000_000 };
      await onRuntime(harness, { agents: [writer, signalled, reader], backlogs }, async (runtime) => {
        assertNearLimit(Number((await (await runtime.start(writer, "go")).result()).output));
        const long = "x".repeat(1_000_001);
        assert.equal((await (await runtime.start(reader, long)).result()).output, long.length);
      });
    },
  },
  {
    name: "1.3 a message to a topic is refused while a subscriber is too far behind, and reaches all once it has read",
    async run(harness) {
      const talker = agentOf("talker", async (ctx) => {
        const topic = TopicId.of("news", ctx.supervision.treeId);
        const accepted = await fill((number) => ctx.emit(number, topic));
        await ctx.emit("refused");
        await ctx.waitFor("again");
        await ctx.emit("again", topic);
        return accepted;
      });
      const lead = agentOf("lead", async (ctx) => {
        const news = ctx.subscribe(TopicId.of("news", ctx.supervision.treeId));
        await news.begin();
        const child = await ctx.spawn(talker, "talk");
        await ctx.waitFor("read");
        const read: Json[] = [];
        for await (const { data = null } of news) {
          read.push(data);
          if (data === limit - 1) await ctx.emit("nearly all read");
          if (data === "again") break;
        }
        return [read.length - 1, (await ctx.join(child)).output];
      });
      const backlogs = { topicMessages: limit };
      await onRuntime(harness, { agents: [lead, talker], backlogs }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const child = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "refused");
        await root.signal("read");
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "nearly all read");
        await child.signal("again");
        const output = (await root.result()).output;
        assert.ok(Array.isArray(output));
        const [read, accepted] = output;
        assert.equal(read, accepted);
        assertNearLimit(Number(accepted));
      });
    },
  },
  {
    name: "7.6 one more question than a run may have open is denied, and there is room again after a decision",
    async run(harness) {
      const mail: Tool = { ...effect("mail", async () => "sent"), risk: "high" };
      const asker = agentOf(
        "asker",
        async (ctx) => {
          const mailTo = async (to: string): Promise<string> => {
            const { content } = await ctx.tool("mail", { to });
            return content[0]?.type === "text" ? content[0].text : "";
          };
          const first = await Promise.all(["ann", "bob", "cy"].map(mailTo));
          return [...first, await mailTo("dan")];
        },
        { tools: [mail] },
      );
      const options = { agents: [asker], approver: "human", backlogs: { openApprovals: 2 } } as const;
      await onRuntime(harness, options, async (runtime) => {
        const run = await runtime.start(asker, "go");
        const approve = async (number: number): Promise<void> => {
          const id = await waitForQuestions(run, number);
          await runtime.approvals.decide(id, { decision: "approved", by: "boss" });
        };
        await waitForQuestions(run, 3);
        const asked = await run.approvals();
        const denied = asked.filter(({ decision }) => decision?.decision === "denied");
        assert.deepEqual([asked.length, denied.map(({ decision }) => decision?.by)], [3, ["limit"]]);
        for (const [index, { decision }] of asked.entries()) if (!decision) await approve(index + 1);
        await approve(4);
        const { output } = await run.result();
        assert.ok(Array.isArray(output));
        assert.equal(output.filter((text) => text === "sent").length, 3);
        assert.match(
          String(output.find((text) => text !== "sent")),
          /2 questions of this run are open already/,
        );
      });
    },
  },
];
