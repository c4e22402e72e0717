import { agent, ChatMessage } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const output = z.object({ year: z.number() });
const price = { input: 1_000_000, output: 1_000_000 };

test("a valid answer becomes a value, also out of a code fence; the model is told the schema", async () => {
  const model = scriptedModel([say('```json\n{"year": 1287}\n```')]);
  const worker = agent({ name: "worker", model, instructions: "Be exact.", output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({ status: "completed", output: { year: 1287 } });
  const system = model.requests[0]?.messages[0];
  expect(system && ChatMessage.text(system)).toMatch(/^Be exact\.\n\n.*JSON Schema:\n\{.*"year"/s);
});

test("3.4 a wrong answer goes back once with what is wrong, and the repair is charged", async () => {
  const model = scriptedModel([say('{"year": "long ago"}'), say('{"year": 1287}')], { price });
  const worker = agent({ name: "worker", model, output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({
    status: "completed",
    output: { year: 1287 },
    spend: 30,
  });
  const told = model.requests[1]?.messages.at(-1);
  expect(told && ChatMessage.text(told)).toContain("year: ");
});

test("an answer that is never right fails the run, with the words it said and why", async () => {
  const model = scriptedModel([say("about 1287")], { price });
  const worker = agent({ name: "worker", model, output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({
    status: "failed",
    stopReason: "error",
    output: "about 1287",
    error: { code: "output", message: "it is not JSON" },
    spend: 45,
  });
});

test("a member's value reaches its boss as JSON", async () => {
  const digger = agent({ name: "digger", model: scriptedModel([say('{"year": 1287}')]), output });
  const model = scriptedModel([call("ask_digger", { task: "when?" }), say("done")]);
  const boss = agent({ name: "boss", model, team: [digger] });
  await using t = testRuntime({ agents: [boss, digger] });
  await t.run(boss, "go");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(JSON.stringify('{"year":1287}'));
});
