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
    return `${question}: 1987`;
  },
});

test("an agent calls a tool, sees its result and answers", async () => {
  const model = scriptedModel([call("look", { question: "pump" }), say("Built in 1987.")]);
  const lead = agent({ name: "lead", model, instructions: "Answer from the archive.", tools: [look] });
  await using t = testRuntime({ agents: [lead] });
  expect(await t.run(lead, "When?")).toMatchObject({ status: "completed", output: "Built in 1987." });
  expect(looked).toEqual(["pump"]);
  expect(model.requests).toHaveLength(2);
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
  ]);
});

test("a team is asked in parallel, and each member is a run of the tree", async () => {
  const researcher = agent({ name: "researcher", model: scriptedModel([say("found")], { id: "small" }) });
  const model = scriptedModel([
    call("ask_researcher", { task: "a" }, ["ask_researcher", { task: "b" }]),
    say("done"),
  ]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  const run = await t.start(lead, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  const types = (await t.events(run)).map(({ type }) => type);
  expect(types.filter((type) => type === "spawn.admitted")).toHaveLength(2);
  expect(types.filter((type) => type === "handoff.made")).toHaveLength(2);
});
