// Topics: workers tell what they find, and one agent keeps the account and answers questions about it.
import assert from "node:assert/strict";
import { AgentId, createRuntime, informationAgent, TopicId, type Agent } from "reeve";

const counter = informationAgent({
  name: "counter",
  topic: "found",
  initial: { count: 0, sum: 0 },
  fold: ({ count, sum }, { data }) => ({ count: count + 1, sum: sum + Number(data) }),
  answer: (state, { text }) => (text === "how many?" ? state.count : state),
});

const worker: Agent = {
  id: AgentId.of("worker"),
  async run(ctx) {
    for (const weight of [1, 2, 3]) await ctx.emit(weight, TopicId.of("found", ctx.supervision.treeId));
  },
};

const lead: Agent = {
  id: AgentId.of("lead"),
  team: [counter, worker],
  async run(ctx) {
    // Its first reply means that it follows: it misses nothing that is told afterwards.
    const { handle } = await ctx.askOrThrow(counter, "listen", { timeoutS: 60 });
    const workers = await Promise.all([1, 2, 3].map(() => ctx.spawn(worker, "work")));
    await Promise.all(workers.map((run) => ctx.join(run)));
    const { data: count } = await ctx.askOrThrow(handle, "how many?", { timeoutS: 60 });
    await ctx.cancel(handle, "enough");
    const { status, output } = await ctx.join(handle);
    return { count, status, output };
  },
};

await using runtime = createRuntime({ agents: [lead] });
const { output } = await (await runtime.start(lead, "go")).result();
assert.deepEqual(output, { count: 9, status: "cancelled", output: { count: 9, sum: 18 } });
