import { AgentId, Json, RunId, TopicId, type Agent, type ChildHandle, type RunContext } from "reeve";

const newsOf = (ctx: RunContext): TopicId => TopicId.of("news", ctx.supervision.treeId);

const agentOf = (name: string, run: Agent["run"]): Agent => ({ id: AgentId.of(name), run });

/**
 * Returns agents that load a topic: two senders, and subscribers that check that each message comes once, those of one sender in
 * order. The lead, which is the first, returns how many subscribers found it so.
 */
export function createTopicLoad(options: {
  readonly subscribers: number;
  readonly messagesPerSender: number;
}): readonly [Agent, ...Agent[]] {
  const { subscribers, messagesPerSender } = options;

  const subscriber = agentOf("subscriber", async (ctx, inbox) => {
    const task = await inbox.next();
    const subscription = ctx.subscribe(newsOf(ctx));
    await subscription.begin();
    if (task) await ctx.reply(task, "subscribed");
    const next = new Map<number, number>();
    let heard = 0;
    for await (const { data } of subscription) {
      const { sender, number } = Json.as<{ readonly sender: number; readonly number: number }>(data);
      if (number !== (next.get(sender) ?? 0)) return false;
      next.set(sender, number + 1);
      heard += 1;
      if (heard === 2 * messagesPerSender) break;
    }
    return [...next.values()].every((count) => count === messagesPerSender);
  });

  const sender = agentOf("sender", async (ctx) => {
    const from = { sender: RunId.number(ctx.supervision.runId), text: "x".repeat(100) };
    for (let number = 0; number < messagesPerSender; number++)
      await ctx.emit({ ...from, number }, newsOf(ctx));
  });

  const lead = agentOf("lead", async (ctx) => {
    const spawn = async (): Promise<ChildHandle> =>
      (await ctx.askOrThrow(subscriber, "listen", { timeoutS: 600 })).handle;
    const runs = await Promise.all(Array.from({ length: subscribers }, spawn));
    const senders = await Promise.all(["a", "b"].map(() => ctx.spawn(sender, "go")));
    await Promise.all(senders.map((run) => ctx.join(run)));
    const ends = await Promise.all(runs.map((run) => ctx.join(run)));
    return ends.filter(({ output }) => output === true).length;
  });

  return [lead, subscriber, sender];
}
