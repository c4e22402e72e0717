import { agent, tool } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const looked: string[] = [];
const look = tool({
  name: "look",
  description: "Look a fact up",
  input: z.object({ question: z.string() }),
  risk: "safe",
  idempotent: true,
  execute: async ({ question }) => {
    looked.push(question);
    return `${question}: 1287`;
  },
});

test("an agent calls a tool, sees its result and answers", async () => {
  const model = scriptedModel([call("look", { question: "mill" }), say("Built in 1287.")]);
  const lead = agent({ name: "lead", model, instructions: "Answer from the archive.", tools: [look] });
  await using t = testRuntime({ agents: [lead] });
  expect(await t.run(lead, "When?")).toMatchObject({ status: "completed", output: "Built in 1287." });
  expect(looked).toEqual(["mill"]);
  expect(model.requests).toHaveLength(2);
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
  ]);
});

test("a team is asked in parallel, and each member is a run of the tree", async () => {
  const digger = agent({ name: "digger", model: scriptedModel([say("found")], { id: "small" }) });
  const model = scriptedModel([
    call("ask_digger", { task: "a" }, ["ask_digger", { task: "b" }]),
    say("done"),
  ]);
  const lead = agent({ name: "lead", model, team: [digger] });
  await using t = testRuntime({ agents: [lead, digger] });
  const run = await t.start(lead, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  const types = (await t.events(run)).map(({ type }) => type);
  expect(types.filter((type) => type === "spawn.admitted")).toHaveLength(2);
  expect(types.filter((type) => type === "handoff.made")).toHaveLength(2);
});
