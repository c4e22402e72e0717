import assert from "node:assert/strict";
import { TopicId, type Envelope, type Json, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";

const probe = "probe";

/** Subscribes to a topic, and returns when the subscription has begun: its own message has come back. */
async function tuneIn(ctx: RunContext, topic: TopicId): Promise<AsyncIterator<Envelope>> {
  const news = ctx.subscribe(topic)[Symbol.asyncIterator]();
  const heard = { any: false };
  const first = news.next().then(() => (heard.any = true));
  while (!heard.any) await ctx.emit(probe, topic);
  await first;
  return news;
}

/** Returns the next messages published by other runs. */
async function hear(news: AsyncIterator<Envelope>, count: number): Promise<readonly Json[]> {
  const heard: Json[] = [];
  while (heard.length < count) {
    const { value, done } = await news.next();
    if (done) break;
    if (value.data !== probe) heard.push(value.data ?? null);
  }
  return heard;
}

/** Publishes three messages for each signal. */
const researcher = agentOf("researcher", async (ctx) => {
  const topic = TopicId.of("news", ctx.supervision.treeId);
  for (const round of ["a", "b"]) {
    await ctx.waitFor(round);
    for (const number of [1, 2, 3]) await ctx.emit(`${round}${number}`, topic);
    await ctx.emit(`${round} is over`);
  }
});

/** Section 1.3: topics of a tree. */
export const topicCases: readonly EngineCase[] = [
  {
    name: "1.3 a subscriber gets later messages in order, and no earlier ones when it subscribes again",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const topic = TopicId.of("news", ctx.supervision.treeId);
        await ctx.spawn(researcher, "talk");
        const first = await tuneIn(ctx, topic);
        await ctx.emit("listening");
        const heard = [...(await hear(first, 2))];
        await ctx.waitFor("again");
        await first.return?.();
        const second = await tuneIn(ctx, topic);
        await ctx.emit("listening again");
        return [...heard, ...(await hear(second, 2))];
      });
      await onRuntime(harness, { agents: [lead, researcher] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "listening");
        await run.signal("a");
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "a is over");
        await root.signal("again");
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "listening again");
        await run.signal("b");
        assert.deepEqual((await root.result()).output, ["a1", "a2", "b1", "b2"]);
        const topic = TopicId.of("news", root.treeId);
        const said = only(await historyOf(root), "progress.emitted").filter((event) => event.topic === topic);
        assert.equal(said.filter(({ data }) => data !== probe).length, 6);
      });
    },
  },
  {
    name: "1.3 two subscriptions to one topic in one run each get every message, and other topics get none",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => {
        const topic = TopicId.of("news", ctx.supervision.treeId);
        await ctx.spawn(researcher, "talk");
        const [one, two] = [await tuneIn(ctx, topic), await tuneIn(ctx, topic)];
        await ctx.emit("listening");
        const heard = await Promise.all([hear(one, 3), hear(two, 3)]);
        await one.return?.();
        await two.return?.();
        return heard;
      });
      await onRuntime(harness, { agents: [lead, researcher] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await waitForEvent(root, "progress.emitted", ({ data }) => data === "listening");
        await run.signal("a");
        const all = ["a1", "a2", "a3"];
        assert.deepEqual((await root.result()).output, [all, all]);
      });
    },
  },
];
