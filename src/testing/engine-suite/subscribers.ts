import assert from "node:assert/strict";
import { informationAgent } from "#agents";
import { Json, TopicId, type Agent, type ChildHandle, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { waitForEvent } from "./history.ts";

const newsOf = (ctx: RunContext): TopicId => TopicId.of("news", ctx.supervision.treeId);

/** Replies once its subscription has begun, and returns the next messages: as many as its task states. */
const subscriber = agentOf("subscriber", async (ctx, inbox) => {
  const task = await inbox.next();
  const subscription = ctx.subscribe(newsOf(ctx));
  await subscription.begin();
  if (task) await ctx.reply(task, "subscribed");
  const heard: Json[] = [];
  for await (const { data } of subscription) {
    heard.push(data ?? null);
    if (heard.length >= Number(task?.text)) break;
  }
  return heard;
});

/** Publishes as many messages as its task states, with the number of its run. */
const teller = agentOf("teller", async (ctx, inbox) => {
  const task = await inbox.next();
  for (let number = 0; number < Number(task?.text); number++)
    await ctx.emit([ctx.supervision.runId, number], newsOf(ctx));
});

/** Spawns a child that has replied: its subscription has begun. */
async function spawnSubscriber(ctx: RunContext, agent: Agent, task: string): Promise<ChildHandle> {
  return (await ctx.askOrThrow(agent, task, { timeoutS: 60 })).handle;
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number);

/** Groups messages by sender, in order of arrival. */
function bySender(heard: Json): Json {
  const senders = Map.groupBy(Json.as<readonly (readonly [string, number])[]>(heard), ([sender]) => sender);
  return Object.fromEntries([...senders].map(([sender, said]) => [sender, said.map(([, number]) => number)]));
}

async function crowd(ctx: RunContext): Promise<Json> {
  const subscribers: ChildHandle[] = [];
  for (const _ of range(12)) subscribers.push(await spawnSubscriber(ctx, subscriber, "15"));
  const tellers = await Promise.all(range(3).map(() => ctx.spawn(teller, "5")));
  const ends = await Promise.all(subscribers.map((run) => ctx.join(run)));
  await Promise.all(tellers.map((run) => ctx.join(run)));
  return ends.map(({ output }) => bySender(output));
}

/** Keeps one subscription across executions, and reads one message in each. */
const renewed = agentOf("renewed", async (ctx, inbox) => {
  const heard = Json.as<readonly number[]>(ctx.state ?? []);
  const subscription = ctx.subscribe(newsOf(ctx));
  await subscription.begin();
  const task = heard.length === 0 ? await inbox.next() : null;
  if (task) await ctx.reply(task, "subscribed");
  const { value } = await subscription[Symbol.asyncIterator]().next();
  const all = [...heard, Number(value?.data)];
  return all.length < 5 ? ctx.continueAs(all) : all;
});

/** Lists received messages. Continues in a fresh execution after every few messages. */
const listener = informationAgent<readonly Json[]>({
  name: "listener",
  topic: "news",
  initial: [],
  fold: (heard, { data }) => [...heard, data ?? null],
  continueAfter: 6,
});

/** Publishes, asks the listener, and returns how often the answer had the message just published. */
const asker = agentOf("asker", async (ctx, inbox) => {
  const target = Json.as<ChildHandle<readonly Json[]>>((await inbox.next())?.data ?? null);
  let known = 0;
  for (const number of range(4)) {
    const said = `${ctx.supervision.runId} ${number}`;
    await ctx.emit(said, newsOf(ctx));
    const { data } = await ctx.askOrThrow(target, "what?", { timeoutS: 60 });
    if (data.includes(said)) known += 1;
  }
  return known;
});

/** Section 1.3: many subscribers of one topic, and subscribers that end, are paused or go on. */
export const subscriberCases: readonly EngineCase[] = [
  {
    name: "1.3 each of many subscribers gets every message once, in the order of its sender",
    async run(harness) {
      const lead = agentOf("lead", crowd);
      await onRuntime(harness, { agents: [lead, subscriber, teller] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go", { spawn: { maxAgents: 20 } })).result();
        const all = Json.as<readonly Readonly<Record<string, readonly number[]>>[]>(output);
        assert.equal(all.length, 12);
        for (const heard of all) assert.deepEqual(Object.values(heard), [range(5), range(5), range(5)]);
      });
    },
  },
  {
    name: "1.3 a paused subscriber gets the missed messages when it resumes; one that ends or is cancelled takes none from another",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const held = await spawnSubscriber(ctx, subscriber, "4");
        const short = await spawnSubscriber(ctx, subscriber, "2");
        const cancelled = await spawnSubscriber(ctx, subscriber, "9");
        await ctx.emit(held.runId);
        await ctx.waitFor("paused");
        for (const number of [0, 1]) await ctx.emit(number, newsOf(ctx));
        const ended = await ctx.join(short);
        await ctx.cancel(cancelled, "enough");
        const { status } = await ctx.join(cancelled);
        for (const number of [2, 3]) await ctx.emit(number, newsOf(ctx));
        await ctx.emit("all is told");
        return [ended.output, status, (await ctx.join(held)).output];
      });
      await onRuntime(harness, { agents: [lead, subscriber] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const { data } = await waitForEvent(root, "progress.emitted");
        const held = runtime.run(Json.as(data));
        await held.pause();
        await root.signal("paused");
        await waitForEvent(root, "progress.emitted", (event) => event.data === "all is told");
        assert.equal(await held.status(), "paused");
        await held.resume();
        const { output } = await root.result();
        assert.deepEqual(output, [[0, 1], "cancelled", [0, 1, 2, 3]]);
      });
    },
  },
  {
    name: "1.3 a run that continues in a fresh execution goes on with its subscription, and misses no message",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const run = await spawnSubscriber(ctx, renewed, "listen");
        for (const number of range(5)) await ctx.emit(number, newsOf(ctx));
        return (await ctx.join(run)).output;
      });
      await onRuntime(harness, { agents: [lead, renewed] }, async (runtime) => {
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, range(5));
      });
    },
  },
  {
    name: "1.3 an information agent answers with every message published after its first reply, and keeps its state when cancelled",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const { handle, data } = await ctx.askOrThrow(listener, "listen", { timeoutS: 60 });
        const task = { text: "ask", data: Json.of(handle) };
        const askers = await Promise.all(range(3).map(() => ctx.spawn(asker, task)));
        const known = await Promise.all(askers.map(async (run) => (await ctx.join(run)).output));
        await ctx.cancel(handle, "enough");
        const { status, output } = await ctx.join(handle);
        return [data, known, status, output?.length ?? 0, new Set(output).size];
      });
      await onRuntime(harness, { agents: [lead, listener, asker] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, [[], [4, 4, 4], "cancelled", 12, 12]);
      });
    },
  },
];
