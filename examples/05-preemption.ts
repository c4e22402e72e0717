// Two slots. When an urgent job comes, a less important one parks at its next safe point and gets its slot back later.
import assert from "node:assert/strict";
import { AgentId, ChatMessage, createRuntime, type Agent } from "reeve";
import { manualModel } from "reeve/testing";
import { engine } from "./engine.ts";

const model = manualModel(); // its calls remain in flight until we answer them
const worker = (name: string, calls: number): Agent => ({
  id: AgentId.of(name),
  model,
  run: async (ctx) => {
    for (let call = 1; call <= calls; call++) await ctx.llm([ChatMessage.user(`${name} ${call}`)]);
    return `${name} done`;
  },
});
const routine = worker("routine", 2);
const urgent = worker("urgent", 1);
const lead: Agent = {
  id: AgentId.of("lead"),
  run: async (ctx) => {
    const first = await ctx.spawn(routine, null, { priority: "low" });
    await ctx.waitFor("urgent");
    const second = await ctx.spawn(urgent, null, { priority: "high" }); // full: takes the desk of the lowest
    const results = [await ctx.join(second), await ctx.join(first)];
    return results.map(({ output }) => output);
  },
};

await using runtime = createRuntime({ agents: [lead, routine, urgent], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
const story: string[] = [];
for await (const event of run.events()) {
  if (/^(run|spawn)\./.test(event.type)) story.push(`${event.agent} ${event.type}`);
  if (event.type === "model.start" && model.calls.length === 1) await run.signal("urgent");
  if (event.type === "spawn.queued") model.calls[0]?.answer("one"); // the call in flight may be finished
  if (event.type === "model.start" && model.calls.length > 1) model.calls.at(-1)?.answer("ok");
}

console.log(story.join("\n"));
assert.deepEqual((await run.result()).output, ["urgent done", "routine done"]);
const order = ["routine run.paused", "urgent run.start", "urgent run.end", "routine run.resumed"];
assert.deepEqual(
  story.filter((line) => order.includes(line)),
  order,
);
