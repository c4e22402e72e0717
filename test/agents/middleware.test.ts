import {
  agent,
  ChatMessage,
  ContentBlock,
  MiddlewareTermination,
  tool,
  type AgentMiddleware,
  type ChatMiddleware,
  type FunctionMiddleware,
  type ModelResponse,
  type RunResult,
} from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { throughLayers } from "../../src/agents/index.ts";
import { eventsOf } from "./events-of.ts";

const price = { input: 1_000_000, output: 1_000_000 };

function look(seen: string[] = []) {
  return tool({
    name: "look",
    description: "Looks something up",
    input: z.object({ question: z.string() }),
    risk: "safe",
    execute: async ({ question }) => {
      seen.push(question);
      return `found ${question}`;
    },
  });
}

const lookThenSay = () => scriptedModel([call("look", { question: "pump" }), say("done")], { price });
const answer = (text: string): ModelResponse => ({
  message: ChatMessage.assistant(text),
  usage: { input: 1, output: 1 },
  finishReason: "stop",
});
const result = (text: string) => ({ content: [ContentBlock.text(text)], isError: false });

/** Returns the tools in the model's last prompt. */
function lastPromptTools({ requests }: ReturnType<typeof scriptedModel>): readonly unknown[] {
  const blocks = requests.at(-1)?.messages.at(-1)?.content ?? [];
  return blocks.map((block) =>
    block.type === "tool-result" ? [block.isError, JSON.stringify(block.content)] : [],
  );
}

test("7.1 the first registered layer is outermost, at all three levels", async () => {
  const order: string[] = [];
  const layer = (name: string) => ({
    async process(_: object, next: () => Promise<void>): Promise<void> {
      order.push(`${name} in`);
      await next();
      order.push(`${name} out`);
    },
  });
  const worker = agent({
    name: "worker",
    model: lookThenSay(),
    tools: [look()],
    middleware: { chat: [layer("c1"), layer("c2")], function: [layer("f1"), layer("f2")] },
  });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  const chat = ["c1 in", "c2 in", "c2 out", "c1 out"];
  expect(order).toEqual([...chat, "f1 in", "f2 in", "f2 out", "f1 out", ...chat]);

  order.length = 0;
  const wrapped = agent({
    name: "wrapped",
    model: scriptedModel([say("done")]),
    middleware: { agent: [layer("a1"), layer("a2")] },
  });
  await using plain = testRuntime({ agents: [wrapped], replay: false });
  expect(await plain.run(wrapped, "go")).toMatchObject({ status: "completed", output: "done" });
  expect(order).toEqual(["a1 in", "a2 in", "a2 out", "a1 out"]);
});

const layerCallingNextTwice = (repeats: boolean) => ({
  repeats,
  async process(_: { result: unknown }, next: () => Promise<void>): Promise<void> {
    await next();
    await next();
  },
});

/** Returns how often such middleware reaches the call. */
async function callsOf(repeats: boolean): Promise<number> {
  let calls = 0;
  const context: { result: unknown } = { result: undefined };
  await throughLayers([layerCallingNextTwice(repeats)], context, async () => {
    context.result = ++calls;
  });
  return calls;
}

test("7.1 a second next() throws unless the layer declares that it repeats and the first call has settled", async () => {
  await expect(callsOf(false)).rejects.toThrow("next() was called twice");
  expect(await callsOf(true)).toBe(2);
  const eager = {
    repeats: true,
    process: async (_: object, next: () => Promise<void>) => void (await Promise.all([next(), next()])),
  };
  const hasty = throughLayers([eager], { result: 1 }, async () => undefined);
  await expect(hasty).rejects.toThrow("before the first call settled");
});

test("7.1 every call of a chat layer that repeats is reserved, settled and charged", async () => {
  const fussy: ChatMiddleware = {
    repeats: true,
    async process(context, next) {
      await next();
      while (context.result && ChatMessage.text(context.result.message) !== "good") await next();
    },
  };
  const model = scriptedModel([say("bad"), say("bad"), say("bad"), say("bad"), say("bad"), say("good")], {
    price,
  });
  const worker = agent({ name: "worker", model, middleware: { chat: [fussy] } });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: "good",
    costMicros: 90,
    inDoubtMicros: 0,
  });
  const events = await t.events(run);
  expect(eventsOf(events, "budget.reserved")).toHaveLength(6);
  expect(eventsOf(events, "budget.settled")).toHaveLength(6);
});

test("7.1 a result of agent middleware without next is the answer, and the agent never runs", async () => {
  const model = scriptedModel([say("never")]);
  const cached: AgentMiddleware = {
    async process(context) {
      context.result = `cached ${context.input}`;
    },
  };
  const worker = agent({ name: "worker", model, middleware: { agent: [cached] } });
  const asks = scriptedModel([call("ask_worker", { task: "b" }), say("done")]);
  const lead = agent({ name: "lead", model: asks, team: [worker] });
  await using t = testRuntime({ agents: [worker, lead] });
  expect(await t.run(worker, "a")).toMatchObject({ status: "completed", output: "cached a", costMicros: 0 });
  await t.run(lead, "go");
  expect(lastPromptTools(asks)[0]).toEqual([false, expect.stringContaining("cached b")]);
  expect(model.requests).toHaveLength(0);
});

test("7.1 a result of chat middleware without next reserves and bills nothing", async () => {
  const model = scriptedModel([say("never")], { price });
  const cached: ChatMiddleware = {
    async process(context) {
      context.result = answer("cached");
    },
  };
  const worker = agent({ name: "worker", model, middleware: { chat: [cached] }, budget: { maxTokens: 0 } });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "cached", costMicros: 0 });
  expect((await t.events(run)).filter(({ type }) => /^(budget|model)\./.test(type))).toEqual([]);
  expect(model.requests).toHaveLength(0);
});

test("7.1 a result of function middleware without next is the tool's result, and the tool never runs", async () => {
  const seen: string[] = [];
  const model = lookThenSay();
  const cached: FunctionMiddleware = {
    async process(context) {
      context.result = result(`cached ${JSON.stringify(context.arguments)}`);
    },
  };
  const worker = agent({ name: "worker", model, tools: [look(seen)], middleware: { function: [cached] } });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).output).toBe("done");
  expect(seen).toEqual([]);
  expect(lastPromptTools(model)[0]).toEqual([false, expect.stringContaining("cached")]);
});

test("7.1 middleware that ends without a result is an error at every level", async () => {
  const forgets = { process: async () => undefined };
  const model = lookThenSay();
  const ended = async (middleware: object): Promise<RunResult> => {
    const worker = agent({ name: "worker", model, tools: [look()], middleware });
    await using t = testRuntime({ agents: [worker], maxRestarts: 0 });
    return await t.run(worker, "go");
  };
  const failed = {
    status: "failed",
    error: { message: expect.stringContaining("returned without calling next() or setting context.result") },
  };
  expect(await ended({ agent: [forgets] })).toMatchObject(failed);
  expect(await ended({ chat: [forgets] })).toMatchObject(failed);
  expect(await ended({ function: [forgets] })).toMatchObject({ status: "completed" });
  expect(lastPromptTools(model)[0]).toEqual([
    true,
    expect.stringContaining("returned without calling next() or setting context.result"),
  ]);
});

test.each(["agent", "chat"] as const)(
  "7.1 a termination at %s level fails the run as terminated",
  async (level) => {
    const stops = {
      process: async (): Promise<void> => {
        throw new MiddlewareTermination({ reason: "enough" });
      },
    };
    const model = scriptedModel([say("never")]);
    const worker = agent({ name: "worker", model, middleware: { [level]: [stops] } });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "go");
    expect(await run.result()).toMatchObject({
      status: "failed",
      stopReason: "terminated",
      error: { code: "middleware-termination", reason: "enough" },
    });
    expect(model.requests).toHaveLength(0);
    expect(eventsOf(await t.events(run), "message.dead-lettered")).toEqual([]);
  },
);

test("7.1 a termination at chat level inside a run tool also ends the run", async () => {
  let calls = 0;
  const stops: ChatMiddleware = {
    async process(_, next) {
      if (++calls === 2) throw new MiddlewareTermination({ reason: "enough" });
      await next();
    },
  };
  const think = tool({
    name: "think",
    description: "Thinks",
    input: z.object({}),
    risk: "safe",
    run: async (ctx) => ChatMessage.text((await ctx.llm([ChatMessage.user("hm")])).message),
  });
  const model = scriptedModel([call("think", {}), say("done")]);
  const worker = agent({ name: "worker", model, tools: [think], middleware: { chat: [stops] } });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "failed", stopReason: "terminated" });
});

test("7.1 a termination at function level is an error result that the model sees", async () => {
  const seen: string[] = [];
  const stops: FunctionMiddleware = {
    process: async () => {
      throw new MiddlewareTermination({ reason: "not today" });
    },
  };
  const model = lookThenSay();
  const worker = agent({ name: "worker", model, tools: [look(seen)], middleware: { function: [stops] } });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed", output: "done" });
  expect(seen).toEqual([]);
  expect(lastPromptTools(model)[0]).toEqual([true, expect.stringContaining("not today")]);
});
