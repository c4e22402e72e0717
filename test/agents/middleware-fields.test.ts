import {
  agent,
  ChatMessage,
  ContentBlock,
  tool,
  type AgentMiddleware,
  type ChatMiddleware,
  type FunctionMiddleware,
} from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "./events-of.ts";

const price = { input: 1_000_000, output: 1_000_000 };
const look = tool({
  name: "look",
  description: "Looks something up",
  input: z.object({ question: z.string() }),
  risk: "safe",
  execute: async ({ question }) => `found ${question}`,
});
const judge = scriptedModel([say("fine", { input: 100, output: 50 })], { id: "judge", price });

test("7.1 agent middleware can change input and result, even of a run that lands", async () => {
  const shout: AgentMiddleware = {
    async process(context, next) {
      expect(context).toMatchObject({ agentName: "worker", sessionId: expect.any(String) });
      context.input = context.input.toUpperCase();
      await next();
      context.result = `${JSON.stringify(context.result)}!`;
    },
  };
  const model = scriptedModel([say("done")]);
  const worker = agent({ name: "worker", model, middleware: { agent: [shout] } });
  const broke = agent({
    ...worker,
    budget: { maxTurns: 2 },
    tools: [look],
    model: scriptedModel([call("look", { question: "q" }), say("enough")]),
  });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed", output: '"done"!' });
  expect(model.requests[0]?.messages).toEqual([ChatMessage.user("GO")]);
  await using poor = testRuntime({ agents: [broke] });
  expect(await poor.run(broke, "go")).toMatchObject({
    status: "landed",
    stopReason: "budget.turns",
    output: '"enough"!',
  });
});

test("7.1 the parent gets the result that agent middleware returned", async () => {
  const shout: AgentMiddleware = {
    async process(context, next) {
      await next();
      context.result = `${JSON.stringify(context.result)}!`;
    },
  };
  const worker = agent({
    name: "worker",
    model: scriptedModel([say("done")]),
    middleware: { agent: [shout] },
  });
  const model = scriptedModel([call("ask_worker", { task: "b" }), say("end")]);
  const lead = agent({ name: "lead", model, team: [worker] });
  await using t = testRuntime({ agents: [worker, lead] });
  await t.run(lead, "go");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('done\\"!');
});

test("7.1 chat middleware can change system instructions, messages, tools, options and result", async () => {
  const rewrite: ChatMiddleware = {
    async process(context, next) {
      expect(context).toMatchObject({ agentName: "worker", systemInstructions: "Be kind.", options: {} });
      context.systemInstructions = "Be brief.";
      context.messages = [ChatMessage.user("changed")];
      context.tools = [];
      context.options = { openai: { user: "x" } };
      await next();
      if (context.result) context.result = { ...context.result, message: ChatMessage.assistant("other") };
    },
  };
  const model = scriptedModel([say("done")]);
  const worker = agent({
    name: "worker",
    model,
    instructions: "Be kind.",
    tools: [look],
    middleware: { chat: [rewrite] },
  });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).output).toBe("other");
  expect(model.requests[0]).toMatchObject({
    messages: [ChatMessage.system("Be brief."), ChatMessage.user("changed")],
    tools: [],
    options: { openai: { user: "x" } },
  });
});

test("7.1 function middleware can change the arguments and the result", async () => {
  const patch: FunctionMiddleware = {
    async process(context, next) {
      expect(context).toMatchObject({ functionName: "look", arguments: { question: "pump" } });
      await next();
      context.result = {
        content: [...(context.result?.content ?? []), ContentBlock.text("patched")],
        isError: false,
      };
    },
  };
  const model = scriptedModel([call("look", { question: "pump" }), say("done")]);
  const worker = agent({ name: "worker", model, tools: [look], middleware: { function: [patch] } });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  const shown = JSON.stringify(model.requests[1]?.messages.at(-1));
  expect(shown).toContain("found pump");
  expect(shown).toContain("patched");
});

test("7.4 function middleware sees the result of a run tool, once, in one closing step", async () => {
  let times = 0;
  const patch: FunctionMiddleware = {
    async process(context, next) {
      times += 1;
      await next();
      context.result = {
        content: [ContentBlock.text(`patched ${JSON.stringify(context.result?.value)}`)],
        isError: false,
      };
    },
  };
  const nap = tool({
    name: "nap",
    description: "Naps",
    input: z.object({}),
    risk: "safe",
    run: async (ctx) => ctx.step("nap", () => "slept"),
  });
  const model = scriptedModel([call("nap", {}), say("done")]);
  const worker = agent({ name: "worker", model, tools: [nap], middleware: { function: [patch] } });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("patched");
  expect(times).toBe(1);
});

test("3.5 scope.llm inside chat middleware is reserved, settled and charged as part of the step", async () => {
  const judged: ChatMiddleware = {
    async process(context, next) {
      await next();
      await Promise.all([1, 2].map(() => context.scope.llm([ChatMessage.user("well?")], { model: judge })));
    },
  };
  const worker = agent({
    name: "worker",
    model: scriptedModel([say("done")], { price }),
    middleware: { chat: [judged] },
  });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: "done",
    costMicros: 315,
    inDoubtMicros: 0,
  });
  const events = await t.events(run);
  expect(eventsOf(events, "budget.reserved")).toHaveLength(3);
  expect(eventsOf(events, "budget.settled").map(({ costMicros: cost }) => cost)).toEqual([15, 150, 150]);
});

test.each([true, false])(
  "3.5 scope.llm inside function middleware is reserved, settled and charged (idempotent tool: %s)",
  async (idempotent) => {
    const judged: FunctionMiddleware = {
      async process(context, next) {
        await next();
        const said = await context.scope.llm([ChatMessage.user("well?")], { model: judge });
        context.result = { content: said.message.content, isError: false };
      },
    };
    const model = scriptedModel([call("look", { question: "pump" }), say("done")], { price });
    const tools = [tool({ ...look, idempotent })];
    const worker = agent({ name: "worker", model, tools, middleware: { function: [judged] } });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "go");
    expect(await run.result()).toMatchObject({ status: "completed", costMicros: 180, inDoubtMicros: 0 });
    const events = await t.events(run);
    expect(eventsOf(events, "budget.reserved")).toHaveLength(3);
    expect(
      eventsOf(events, "budget.settled").map(({ costMicros: cost, inDoubt }) => [cost, inDoubt]),
    ).toEqual([
      [15, false],
      [150, false],
      [15, false],
    ]);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("fine");
  },
);

test("3.5 scope.llm is refused where the budget does not allow it", async () => {
  const judged: FunctionMiddleware = {
    async process(context, next) {
      await next();
      await context.scope.llm([ChatMessage.user("well? ".repeat(2_000))], { model: judge });
    },
  };
  const model = scriptedModel([call("look", { question: "pump" }), say("done")], {
    price,
    maxOutputTokens: 100,
  });
  const worker = agent({
    name: "worker",
    model,
    tools: [look],
    middleware: { function: [judged] },
    budget: { maxTokens: 6_000 },
  });
  const asked = judge.requests.length;
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed", output: "done" });
  expect(judge.requests).toHaveLength(asked);
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("budget exhausted");
});
