// Topics: researchers publish their findings, and one agent counts them and answers questions about them.
import assert from "node:assert/strict";
import { AgentId, createRuntime, informationAgent, TopicId, type Agent } from "reeve";

const counter = informationAgent({
  name: "counter",
  topic: "found",
  initial: { count: 0, sum: 0 },
  fold: ({ count, sum }, { data }) => ({ count: count + 1, sum: sum + Number(data) }),
  answer: (state, { text }) => (text === "how many?" ? state.count : state),
});

const researcher: Agent = {
  id: AgentId.of("researcher"),
  async run(ctx) {
    for (const pages of [1, 2, 3]) await ctx.emit(pages, TopicId.of("found", ctx.supervision.treeId));
  },
};

const lead: Agent = {
  id: AgentId.of("lead"),
  team: [counter, researcher],
  async run(ctx) {
    // Its first reply means that its subscription has begun: it misses no later message.
    const { handle } = await ctx.askOrThrow(counter, "listen", { timeoutS: 60 });
    const researchers = await Promise.all([1, 2, 3].map(() => ctx.spawn(researcher, "search")));
    await Promise.all(researchers.map((run) => ctx.join(run)));
    const { data: count } = await ctx.askOrThrow(handle, "how many?", { timeoutS: 60 });
    await ctx.cancel(handle, "enough");
    const { status, output } = await ctx.join(handle);
    return { count, status, output };
  },
};

await using runtime = createRuntime({ agents: [lead] });
const { output } = await (await runtime.start(lead, "go")).result();
assert.deepEqual(output, { count: 9, status: "cancelled", output: { count: 9, sum: 18 } });
