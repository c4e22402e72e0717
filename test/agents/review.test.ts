import { agent, createRuntime } from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const review = { every: 1, tools: [], task: "Keep notes." };

test("a review without a free slot changes nothing, and the next turn is reviewed", async () => {
  const model = scriptedModel([say("one"), say("two"), say("noted")]);
  const lead = agent({ name: "lead", model, review });
  await using runtime = createRuntime({ agents: [lead] });
  const talk = await runtime.sessions.create(lead);
  expect(await talk.invoke("1", { spawn: { maxAgents: 1 } })).toMatchObject({
    status: "completed",
    output: "one",
  });
  expect(model.requests).toHaveLength(1);
  expect(await talk.invoke("2")).toMatchObject({ status: "completed", output: "two" });
  expect(model.requests).toHaveLength(3);
});

test("a review with a failing model leaves the turn unchanged", async () => {
  const model = scriptedModel([say("one")]);
  const lead = agent({ name: "lead", model, review: { ...review, task: "Fail." }, retry: { maxRetries: 0 } });
  const failing = agent({
    ...lead,
    model: {
      ...model,
      generate: (request, call) =>
        JSON.stringify(request.messages).includes("Fail.")
          ? Promise.reject(new Error("no model"))
          : model.generate(request, call),
    },
  });
  await using runtime = createRuntime({ agents: [failing], log: () => undefined });
  const talk = await runtime.sessions.create(failing);
  expect(await talk.invoke("1")).toMatchObject({ status: "completed", output: "one" });
  expect((await talk.messages()).items).toHaveLength(2);
});

test("without a named conversation there is no review", async () => {
  const model = scriptedModel([say("one")]);
  const lead = agent({ name: "lead", model, review });
  await using runtime = createRuntime({ agents: [lead] });
  expect(await (await runtime.start(lead, "1")).result()).toMatchObject({ output: "one" });
  expect(model.requests).toHaveLength(1);
});

test("invalid options are refused when the agent is defined", () => {
  const model = scriptedModel([say("one")]);
  const build = (given: Partial<typeof review>) => () =>
    agent({ name: "lead", model, review: { ...review, ...given } });
  expect(build({ every: 0 })).toThrow("review.every must be an integer >= 1, got 0");
  expect(build({ every: 1.5 })).toThrow(RangeError);
  expect(build({ task: "" })).toThrow("review.task must not be empty");
});
