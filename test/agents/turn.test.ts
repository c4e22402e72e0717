import { agent, ChatMessage, tool, type Model, type RunResult } from "reeve";
import { type ToolResultBlock } from "#kernel";
import { call, manualModel, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "./passing-time.ts";

const text = (name: string, execute: (input: string) => Promise<string>) =>
  tool({
    name,
    description: name,
    input: z.object({ text: z.string() }),
    risk: "safe",
    execute: ({ text: given }) => execute(given),
  });
const echo = text("echo", async (given) => given);

/** The results a model was shown last. */
function results({ requests }: ScriptedModel): readonly (readonly [string, boolean, string])[] {
  const blocks = requests.at(-1)?.messages.at(-1)?.content ?? [];
  return blocks
    .filter((block): block is ToolResultBlock => block.type === "tool-result")
    .map(({ callId, isError, content }) => [
      callId,
      isError,
      content.map((inner) => (inner.type === "text" ? inner.text : "")).join(""),
    ]);
}

test("7.4 tools of one batch run in parallel, and their results go back in call order", async () => {
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const race = text("race", async (given) => {
    if (given === "slow") await first.promise;
    order.push(given);
    first.resolve();
    return given;
  });
  const model = scriptedModel([call("race", { text: "slow" }, ["race", { text: "fast" }]), say("done")]);
  const worker = agent({ name: "worker", model, tools: [race] });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).output).toBe("done");
  expect(order).toEqual(["fast", "slow"]);
  expect(results(model)).toEqual([
    ["call-1", false, "slow"],
    ["call-2", false, "fast"],
  ]);
});

test("a tool result is shown up to 50,000 characters, with the number left out", async () => {
  const long = text("long", async (given) => given.repeat(50_001));
  const model = scriptedModel([call("long", { text: "x" }), say("done")]);
  const worker = agent({ name: "worker", model, tools: [long] });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  expect(results(model)[0]?.[2]).toBe(`${"x".repeat(50_000)}\n[1 more characters left out]`);
});

test("malformed, invalid and unknown calls are answered with an error, and nothing is executed", async () => {
  let executed = 0;
  const count = text("count", async () => `${++executed}`);
  const broken = {
    message: {
      role: "assistant",
      content: [
        { type: "tool-call", callId: "a", name: "count", input: null, malformedInput: '{"text": ' },
        { type: "tool-call", callId: "b", name: "count", input: { words: 1 } },
        { type: "tool-call", callId: "c", name: "nothing", input: {} },
      ],
    },
    finishReason: "tool-calls",
  } as const;
  const model = scriptedModel([broken, say("done")]);
  const worker = agent({ name: "worker", model, tools: [count] });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).output).toBe("done");
  expect(executed).toBe(0);
  expect(results(model)).toEqual([
    ["a", true, expect.stringContaining('not JSON: {"text": ')],
    ["b", true, expect.stringContaining("bad input")],
    ["c", true, expect.stringContaining("there is no tool nothing")],
  ]);
});

test("anything that a tool or its schema throws becomes an error result", async () => {
  const bad = tool({
    name: "bad",
    description: "bad",
    input: z.object({}).transform(() => {
      throw new Error("the schema broke");
    }),
    risk: "safe",
    execute: async () => "never",
  });
  const worse = text("worse", async () => {
    throw new Error("the tool broke");
  });
  const model = scriptedModel([call("bad", {}, ["worse", { text: "x" }]), say("done")]);
  const worker = agent({ name: "worker", model, tools: [bad, worse] });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).output).toBe("done");
  expect(results(model).map(([, isError, said]) => [isError, said])).toEqual([
    [true, expect.stringContaining("the schema broke")],
    [true, expect.stringContaining("the tool broke")],
  ]);
});

test("6.8 steering reaches the agent after its current tools and before its next model call", async () => {
  const gate = Promise.withResolvers<string>();
  let isRunning = false;
  const wait = text("wait", async () => {
    isRunning = true;
    return gate.promise;
  });
  const model = scriptedModel([call("wait", { text: "x" }), say("done")]);
  const worker = agent({ name: "worker", model, tools: [wait] });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  await waitUntil(() => isRunning);
  await run.steer("left");
  await run.steer("no, right");
  gate.resolve("waited");
  expect((await run.result()).output).toBe("done");
  expect(model.requests[1]?.messages.map((message) => [message.role, ChatMessage.text(message)])).toEqual([
    ["user", "go"],
    ["assistant", ""],
    ["tool", ""],
    ["user", "left"],
    ["user", "no, right"],
  ]);
});

test.each(["steer", "followUp"] as const)(
  "6.8 a message by %s during the last answer gets its own answer",
  async (how) => {
    const model = manualModel();
    const worker = agent({ name: "worker", model });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "go");
    await waitUntil(() => model.calls.length === 1);
    await run[how]("and then?");
    model.calls[0]?.answer("first");
    await waitUntil(() => model.calls.length === 2);
    expect(model.calls[1]?.request.messages.map(ChatMessage.text)).toEqual(["go", "first", "and then?"]);
    model.calls[1]?.answer("second");
    expect(await run.result()).toMatchObject({ status: "completed", output: "second" });
  },
);

test("6.8 a follow-up waits until the agent would stop; steering does not wait", async () => {
  const model = scriptedModel([call("echo", { text: "a" }), say("first"), say("second")]);
  const held = manualModel();
  const slow: Model = {
    ...model,
    generate: async (request, given) => {
      if (model.requests.length === 0) await held.generate(request, given);
      return model.generate(request, given);
    },
  };
  const worker = agent({ name: "worker", model: slow, tools: [echo] });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  await waitUntil(() => held.calls.length === 1);
  await run.followUp("later");
  await run.steer("now");
  held.calls[0]?.answer("");
  expect((await run.result()).output).toBe("second");
  const said = model.requests.map(({ messages }) =>
    ChatMessage.text(messages.at(-1) ?? ChatMessage.user("")),
  );
  expect(said).toEqual(["go", "now", "later"]);
});

/** A model that uses its whole output limit and stops in the middle of a call. */
const cutModel = (): Model => ({
  id: "cut",
  maxOutputTokens: 4_000,
  generate: async ({ maxOutputTokens }) => ({
    message: {
      role: "assistant",
      content: [
        { type: "text", text: "I will" },
        { type: "tool-call", callId: "a", name: "echo", input: { text: "half" } },
      ],
    },
    usage: { input: 100, output: maxOutputTokens },
    finishReason: "length",
  }),
});

test("a call that was shrunk and ends with length has its tool calls discarded, and the run lands", async () => {
  const seen: string[] = [];
  const spy = text("echo", async (given) => `${seen.push(given)}`);
  const worker = agent({ name: "worker", model: cutModel(), tools: [spy], budget: { maxTokens: 2_500 } });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({
    status: "landed",
    stopReason: "budget.tokens",
    output: "I will",
  });
  expect(seen).toEqual([]);
});

test("a call shortened by the budget reports it", async () => {
  const price = { input: 1_000_000, output: 1_000_000 };
  const model = { ...cutModel(), price };
  const worker = agent({ name: "worker", model, tools: [echo], budget: { maxCostUsd: 0.0025 } });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "landed", stopReason: "budget.cost" });
});

test("an agent made from another keeps everything that is not overridden", async () => {
  const human = text("ask_human", async (given) => `human says ${given}`);
  const researcher = agent({ name: "researcher", model: scriptedModel([say("dug")]) });
  const lead = agent({
    name: "lead",
    model: scriptedModel([say("never")]),
    instructions: "Be kind.",
    tools: [echo, human],
    team: [researcher],
  });
  const model = scriptedModel([
    call("ask_researcher", { task: "dig" }, ["ask_human", { text: "x" }]),
    say("done"),
  ]);
  const copy = agent({ ...lead, model });
  await using t = testRuntime({ agents: [copy, researcher] });
  const { output }: RunResult = await t.run(copy, "go");
  expect(output).toBe("done");
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["echo", "ask_human", "ask_researcher"]);
  expect(results(model).map(([, , said]) => said)).toEqual(["dug", "human says x"]);
  expect(agent({ ...lead, team: [] }).tools.map(({ name }) => name)).toEqual(["echo", "ask_human"]);
});
