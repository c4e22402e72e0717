import { agent, ChatMessage, ContentBlock, contentFilter } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { look } from "./look-tool.ts";

const output = z.object({ year: z.number() });
const price = { input: 1_000_000, output: 1_000_000 };

test("a valid answer becomes a value, even inside a code fence; the model gets the schema", async () => {
  const model = scriptedModel([say('```json\n{"year": 1987}\n```')]);
  const worker = agent({ name: "worker", model, instructions: "Be exact.", output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({ status: "completed", output: { year: 1987 } });
  const system = model.requests[0]?.messages[0];
  expect(system && ChatMessage.text(system)).toMatch(/^Be exact\.\n\n.*JSON Schema:\n\{.*"year"/s);
});

test("3.4 an invalid answer goes back once with its errors, and the repair is charged", async () => {
  const model = scriptedModel([say('{"year": "long ago"}'), say('{"year": 1987}')], { price });
  const worker = agent({ name: "worker", model, output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({
    status: "completed",
    output: { year: 1987 },
    costMicros: 30,
  });
  const told = model.requests[1]?.messages.at(-1);
  expect(told && ChatMessage.text(told)).toContain("year: ");
});

test("an answer that never becomes valid fails the run without an output; the error has the reason and the answer", async () => {
  const model = scriptedModel([say("about 1987")], { price });
  const worker = agent({ name: "worker", model, output });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "When?")).toMatchObject({
    status: "failed",
    stopReason: "error",
    output: null,
    error: {
      code: "output",
      message: "the answer does not match the output schema, after 2 repairs: it is not JSON",
      answer: "about 1987",
    },
    costMicros: 45,
  });
});

test("a child's value reaches its parent as JSON", async () => {
  const researcher = agent({ name: "researcher", model: scriptedModel([say('{"year": 1987}')]), output });
  const model = scriptedModel([call("ask_researcher", { task: "when?" }), say("done")]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  await t.run(lead, "go");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(JSON.stringify('{"year":1987}'));
});

test("7.2 repairs are cycles of the turn, and turn.end comes after them and after the output guardrails", async () => {
  const model = scriptedModel([say('{"year": "long ago"}'), say('{"year": 1}'), say('{"year": 1987}')]);
  const filter = contentFilter({ patterns: ['"year":1}'], on: ["output"] });
  const worker = agent({ name: "worker", model, output, guardrails: [filter] });
  await using t = testRuntime({ agents: [worker] });
  const events = await t.events(await t.start(worker, "When?"));
  const wanted = new Set(["turn", "cycle", "model", "guardrail"]);
  const types = events.map(({ type }) => type).filter((type) => wanted.has(type.split(".")[0] ?? ""));
  const cycle = ["cycle.start", "model.start", "model.end", "cycle.end"];
  const blocked = ["cycle.start", "model.start", "model.end", "guardrail.trip", "cycle.end"];
  expect(types).toEqual(["turn.start", ...cycle, ...blocked, ...cycle, "turn.end"]);
});

test("3.8 a repair that reaches the budget limit lands with a matching answer, else the run fails with the budget error", async () => {
  const wrong = say('{"year": "long ago"}');
  const lucky = scriptedModel([wrong, say('{"year": 1987}')]);
  const unlucky = scriptedModel([wrong, say("sorry")]);
  const budget = { maxTurns: 2 };
  const [one, other] = [
    agent({ name: "one", model: lucky, output, budget }),
    agent({ name: "other", model: unlucky, output, budget }),
  ];
  await using t = testRuntime({ agents: [one, other] });
  const stopReason = "budget.turns";
  expect(await t.run(one, "When?")).toMatchObject({ status: "landed", stopReason, output: { year: 1987 } });
  expect(await t.run(other, "When?")).toMatchObject({
    status: "failed",
    stopReason,
    output: null,
    error: { code: "budget-exhausted" },
  });
  const told = lucky.requests[1]?.messages.at(-1);
  expect(told && ChatMessage.text(told)).toMatch(/The budget is used up\. .*JSON Schema:\n\{.*"year"/s);
});

/** A text beside a call. */
const draft = (text: string) =>
  ({
    message: { role: "assistant", content: [ContentBlock.text(text), ...call("look", {}).message.content] },
    finishReason: "tool-calls",
  }) as const;

/** A model with a draft first and a final answer. */
const script = (first: string, last: string) => scriptedModel([draft(first), call("look", {}), say(last)]);

/** A text that was cut. */
const cut = (text: string) => ({
  ...say(text, { input: 10, output: 20 }),
  finishReason: "length" as const,
});

test("3.8 a landing takes the last text that matches, and an empty answer is not an answer", async () => {
  const budget = { maxTurns: 3 };
  const typed = agent({ name: "typed", model: script('{"year": 7}', "?"), tools: [look], output, budget });
  const plain = agent({ name: "plain", model: script("so far: 7", ""), tools: [look], budget });
  const mute = agent({ name: "mute", model: script("", ""), tools: [look], budget });
  await using t = testRuntime({ agents: [typed, plain, mute] });
  expect(await t.run(typed, "go")).toMatchObject({ status: "landed", output: { year: 7 } });
  expect(await t.run(plain, "go")).toMatchObject({ status: "landed", output: "so far: 7" });
  expect(await t.run(mute, "go")).toMatchObject({
    status: "landed",
    stopReason: "budget.turns",
    output: null,
  });
});

test("an answer that the budget cut is the output only if it matches", async () => {
  const options = { maxOutputTokens: 4_000, price };
  const budget = { maxTokens: 3_000 };
  const one = agent({ name: "one", model: scriptedModel([cut('{"year": 12')], options), output, budget });
  const other = agent({
    name: "other",
    model: scriptedModel([cut('{"year": 12}')], options),
    output,
    budget,
  });
  await using t = testRuntime({ agents: [one, other] });
  expect(await t.run(one, "When?")).toMatchObject({
    status: "failed",
    stopReason: "budget.tokens",
    output: null,
    error: { code: "output" },
  });
  expect(await t.run(other, "When?")).toMatchObject({ status: "landed", output: { year: 12 } });
});
