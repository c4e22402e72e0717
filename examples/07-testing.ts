// Testing an agent: a scripted model, a manual clock, and every execution replayed after each operation.
import assert from "node:assert/strict";
import { agent, AgentId, tool, type Agent } from "reeve";
import { call, manualClock, say, scriptedModel, testRuntime } from "reeve/testing";
import { z } from "zod";

const look = tool({
  name: "look",
  description: "Look a fact up",
  input: z.object({ question: z.string() }),
  risk: "safe",
  execute: async () => "9 percent",
});
const lead = agent({
  name: "lead",
  model: scriptedModel([call("look", { question: "sales" }), say("Sales grew by 9 percent.")]),
  tools: [look],
});
{
  await using t = testRuntime({ agents: [lead] });
  assert.equal((await t.run(lead, "How did sales develop?")).output, "Sales grew by 9 percent.");
}

// A day passes in no time.
const sleeper: Agent = {
  id: AgentId.of("sleeper"),
  run: async (ctx) => {
    await ctx.sleepUntil((await ctx.now()) + 24 * 60 * 60 * 1000);
    return "good morning";
  },
};
{
  const clock = manualClock();
  await using t = testRuntime({ agents: [sleeper], clock });
  const run = await t.start(sleeper, "sleep");
  while ((await run.status()) !== "waiting");
  await clock.advance(24 * 60 * 60 * 1000);
  assert.equal((await run.result()).output, "good morning");
}

// Code that cannot be replayed does not get through.
const careless: Agent = {
  id: AgentId.of("careless"),
  run: async (ctx) => {
    await new Promise((resolve) => setTimeout(resolve, 100)); // belongs into ctx.step
    return ctx.step("use", () => "hello");
  },
};
{
  await using t = testRuntime({ agents: [careless] });
  const { status, error } = await t.run(careless, "go");
  console.log(error?.message);
  assert.deepEqual([status, error?.code], ["failed", "unjournaled-await"]);
}
