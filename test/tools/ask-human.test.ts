import { agent, createRuntime, type Json } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { expect, test } from "vitest";
import { tryTool } from "./call-tool.ts";

test("a model asks, a person answers, and the model reads the answer", async () => {
  const question = { question: "On which day?", choices: ["Monday", "Friday"] };
  // A model's answer to its own question is ignored.
  const model = scriptedModel([call("ask_human", { ...question, answer: "Monday" }), say("Friday it is.")]);
  const lead = agent({ name: "lead", model, tools: [askHuman()] });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore(), approver: "human" });
  const run = await runtime.start(lead, "plan the meeting");
  const pending = () => runtime.approvals.list({ state: "pending" });
  await expect.poll(async () => (await pending()).items.length).toBe(1);
  const [record] = (await pending()).items;
  expect(record).toMatchObject({ tool: "ask_human", asks: true, arguments: question });
  await run.edit(record?.id ?? "", "Friday", { by: "ann" });
  expect((await run.result()).output).toBe("Friday it is.");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("Friday");
});

test("without a human approver the model gets the answer that no person is available", async () => {
  const model = scriptedModel([call("ask_human", { question: "Which?" }), say("I do not know.")]);
  const lead = agent({ name: "lead", model, tools: [askHuman()] });
  await using runtime = createRuntime({ agents: [lead] });
  await (await runtime.start(lead, "go")).result();
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("this run has no approver to answer");
});

test.each<[string, Json]>([
  ["no question", {}],
  ["an empty question", { question: " " }],
  ["a long question", { question: "x".repeat(5_001) }],
  ["no choice", { question: "?", choices: [] }],
  ["equal choices", { question: "?", choices: ["a", "a"] }],
  ["choices of numbers", { question: "?", choices: [1, 2] }],
  ["choices and fields", { question: "?", choices: ["a", "b"], fields: [{ name: "a", type: "text" }] }],
  ["no field", { question: "?", fields: [] }],
  ["a field without a type", { question: "?", fields: [{ name: "a" }] }],
  [
    "two fields of one name",
    {
      question: "?",
      fields: [
        { name: "a", type: "text" },
        { name: "a", type: "text" },
      ],
    },
  ],
  ["a list without choices", { question: "?", fields: [{ name: "a", type: "list" }] }],
  ["limits in the wrong order", { question: "?", fields: [{ name: "a", type: "number", min: 2, max: 1 }] }],
  ["choices of a number", { question: "?", fields: [{ name: "a", type: "number", choices: ["1", "2"] }] }],
])("an invalid question is refused: %s", async (_, input) => {
  expect(await tryTool(askHuman(), input)).toMatch(/^error: bad input/);
});
