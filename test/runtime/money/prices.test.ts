import {
  AgentId,
  ChatMessage,
  ModelError,
  type Agent,
  type AgentPolicy,
  type Model,
  type Price,
} from "#kernel";
import { Runtime } from "#runtime";
import { agent, createRuntime, fallback, judge, tool } from "reeve";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { z } from "zod";
import { dollars, Meter, meteredModel } from "./metered-model.ts";

const look = tool({
  name: "look",
  description: "look",
  input: z.object({ n: z.number() }),
  risk: "safe",
  execute: async () => "x".repeat(500),
});

const free: Price = { input: 0, output: 0 };

const named = (name: string, model: Model, policy?: AgentPolicy, run?: Agent["run"]): Agent => ({
  id: AgentId.of(name),
  model,
  policy,
  run: run ?? (async (ctx) => ChatMessage.text((await ctx.llm([ChatMessage.user("hi")])).message)),
});

const answering = (price: Price, provider?: string): Model =>
  meteredModel({
    meter: new Meter(),
    id: "llama",
    provider: provider ?? "hosted",
    price,
    answer: () => ({ text: "no", usage: { input: 100, output: 100 } }),
  });

test("a model of one id at two providers is booked at the price of each", async () => {
  const meter = new Meter();
  const dear = meteredModel({
    meter,
    id: "llama",
    provider: "hosted",
    price: { input: 30_000_000, output: 60_000_000 },
    answer: (_request, n) => ({ calls: [["look", { n }]], output: 500 }),
  });
  const lead = agent({ name: "lead", model: dear, tools: [look] });
  const writer = agent({ name: "writer", model: answering(free, "ollama") });
  await using runtime = createRuntime({ agents: [lead, writer] });
  const run = await runtime.start(lead, "go", { budget: { maxCostUsd: 0.05, maxTurns: 40 } });
  const { costMicros } = await run.result();
  expect(meter.calls.length).toBeGreaterThan(0);
  expect(meter.costMicros).toBeLessThanOrEqual(50_000);
  expect(costMicros).toBe(meter.costMicros);
});

test.for<[string, (other: Model) => Agent]>([
  ["an agent's model", (other) => named("other", other)],
  ["a fallback", (other) => named("other", answering(free, "own"), { chat: [fallback([other])] })],
  [
    "a judge",
    (other) =>
      named("other", answering(free, "own"), { guardrails: [judge({ question: "bad?", model: other })] }),
  ],
])("two prices under one provider and id are an error when the runtime is made: %s", ([, other]) => {
  const agents = [named("lead", answering(dollars)), other(answering({ input: 10, output: 10 }))];
  expect(() => new Runtime({ agents, engine: local() })).toThrow(/two prices for model hosted\/llama/);
});

test("one price that only one caller knows with its cache writes is not a conflict", async () => {
  const lead = named("lead", answering(dollars));
  const other = named("other", answering({ ...dollars, cacheWrite: 9 }));
  await using runtime = new Runtime({ agents: [lead, other], engine: local() });
  const { costMicros } = await (await runtime.start(lead, "go")).result();
  expect(costMicros).toBe(100 * 3 + 100 * 15);
});

test.for<[string, Price]>([
  ["cachedInput must be a finite number >= 0, got -3000000", { ...dollars, cachedInput: -3_000_000 }],
  ["cachedInput must be a finite number >= 0, got NaN", { ...dollars, cachedInput: Number.NaN }],
  ["cacheWrite must be a finite number >= 0, got NaN", { ...dollars, cacheWrite: Number.NaN }],
  ["output must be a finite number >= 0, got Infinity", { input: 1, output: Infinity }],
  ["request must be an integer >= 0, got -1", { ...dollars, request: -1 }],
  [
    "tiers[0].input must be a finite number >= 0, got -1",
    { ...dollars, tiers: [{ aboveInputTokens: 1, input: -1, output: 1 }] },
  ],
])("a price that cannot be booked is refused where it enters: %s", ([message, price]) => {
  expect(() => agent({ name: "lead", model: answering(price) })).toThrow(message);
  expect(() => new Runtime({ agents: [named("lead", answering(price))], engine: local() })).toThrow(message);
});

test("a model given for one call that contradicts a known price is not called", async () => {
  const meter = new Meter();
  const cheap = answering(free);
  const dear = meteredModel({ meter, id: "llama", provider: "hosted", answer: () => ({ text: "ok" }) });
  const lead = named("lead", cheap, {}, async (ctx) => {
    await ctx.llm([ChatMessage.user("hi")], { model: dear });
    return "done";
  });
  await using runtime = new Runtime({ agents: [lead], engine: local(), maxRestarts: 0 });
  const result = await (await runtime.start(lead, "go", { budget: { maxCostUsd: 0.01 } })).result();
  expect(result.error?.message).toMatch(/two prices for model hosted\/llama/);
  expect(meter.calls).toEqual([]);
});

test("a failed model that was not billed costs nothing, a request fee included", async () => {
  const price = { ...dollars, request: 7 };
  let calls = 0;
  const model: Model = {
    id: "m",
    price,
    async generate() {
      if (calls++ === 0) throw new ModelError({ kind: "overloaded", message: "529", unbilled: true });
      return {
        message: ChatMessage.assistant("ok"),
        usage: { input: 100, output: 10 },
        finishReason: "stop",
      };
    },
  };
  const lead = named("lead", model, { retry: { maxRetries: 1, baseMs: 1 } });
  await using runtime = new Runtime({ agents: [lead], engine: local() });
  expect((await (await runtime.start(lead, "go")).result()).costMicros).toBe(300 + 150 + 7);
});
