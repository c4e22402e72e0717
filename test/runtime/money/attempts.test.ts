import {
  agent,
  AgentId,
  ChatMessage,
  createRuntime,
  judge,
  ModelError,
  tool,
  type Agent,
  type ChatMiddleware,
  type Model,
  type RunHandle,
  type RunResult,
  type Usage,
} from "reeve";
import type { StepScope } from "#kernel";
import { expect, test } from "vitest";
import { z } from "zod";
import { Meter, meteredModel } from "./metered-model.ts";

const look = tool({
  name: "look",
  description: "look",
  input: z.object({ n: z.number() }),
  risk: "safe",
  execute: async () => "x".repeat(300),
});

/** A model that calls a tool repeatedly, and reports this usage. */
const looking = (meter: Meter, output: number, usage?: Usage | null): Model =>
  meteredModel({
    meter,
    answer: (_request, n) => ({
      calls: [["look", { n }]],
      output,
      ...(usage !== undefined && { usage }),
    }),
  });

const saying = (meter: Meter, text = "ok"): Model =>
  meteredModel({ meter, answer: () => ({ text, output: 100 }) });

interface Attempt {
  readonly agents: readonly [Agent, ...Agent[]];
  readonly budget: { readonly maxTokens?: number; readonly maxCostUsd?: number };
  readonly input?: string;
  /** The external action during the run. */
  readonly act?: (run: RunHandle) => Promise<unknown>;
}

async function attempt({ agents, budget, input = "go", act }: Attempt): Promise<RunResult> {
  await using runtime = createRuntime({ agents, maxRestarts: 0 });
  const run = await runtime.start(agents[0], input, { budget, spawn: { maxAgents: 40 } });
  await act?.(run);
  return await run.result();
}

const named = (name: string, run: Agent["run"], model?: Model): Agent => ({
  id: AgentId.of(name),
  run,
  ...(model && { model }),
});

test.for([{ maxCostUsd: 0.2 }, { maxTokens: 20_000 }])(
  "30 concurrent children stay below %j",
  async (budget) => {
    const meter = new Meter();
    const writer = agent({ name: "writer", model: looking(meter, 200), tools: [look] });
    const lead = named("lead", async (ctx) => {
      const asked = Array.from({ length: 30 }, (_, index) =>
        ctx.ask(writer, `task ${index}`, { timeoutS: 60 }),
      );
      await Promise.all(asked);
      return "done";
    });
    await attempt({ agents: [lead, writer], budget });
    expect(meter.calls.length).toBeGreaterThan(0);
    expect(meter.costMicros).toBeLessThanOrEqual((budget.maxCostUsd ?? Infinity) * 1_000_000);
    expect(meter.tokens).toBeLessThanOrEqual(budget.maxTokens ?? Infinity);
  },
);

test.for<[string, unknown]>([
  ["negative", { input: -5, output: -5 }],
  ["not a number", { input: Number.NaN, output: 1 }],
  ["huge", { input: 1e15, output: 1 }],
  ["a fraction", { input: 1.5, output: 1 }],
  ["more cached than read", { input: 5, output: 1, cachedInput: 50 }],
  ["more written than read", { input: 5, output: 1, cacheWrite: 50 }],
  ["absent", null],
  ["text", { input: "5", output: "1" }],
])("a report of %s usage allows no extra calls", async ([, usage]) => {
  const meter = new Meter();
  const model: Model = { ...looking(meter, 100) };
  const lying: Model = {
    ...model,
    generate: async (request, call) => Object.assign({}, await model.generate(request, call), { usage }),
  };
  const lead = agent({ name: "lead", model: lying, tools: [look] });
  await attempt({ agents: [lead], budget: { maxTokens: 12_000 } });
  expect(meter.calls.length).toBeGreaterThan(0);
  expect(meter.tokens).toBeLessThanOrEqual(12_000);
});

test("usage above the ceiling of a call is booked as reported, and nothing begins after it", async () => {
  const meter = new Meter();
  const model = meteredModel({
    meter,
    count: (text) => Buffer.byteLength(text) * 9 + 8_000,
    answer: (_request, n) => ({ calls: [["look", { n }]], output: 50 }),
  });
  const lead = agent({ name: "lead", model, tools: [look] });
  const { usage } = await attempt({ agents: [lead], budget: { maxTokens: 6_000 } });
  expect(meter.calls).toHaveLength(1);
  expect(usage.input + usage.output).toBe(meter.tokens);
});

test("every billed failure counts", async () => {
  const meter = new Meter();
  const error = new ModelError({ kind: "server-error", message: "cut", unbilled: false });
  const model = meteredModel({ meter, maxOutputTokens: 50, answer: () => ({ error, output: 50 }) });
  const lead = agent({ name: "lead", model, retry: { maxRetries: 3, baseMs: 1 } });
  await attempt({ agents: [lead], budget: { maxTokens: 300 } });
  expect(meter.calls.length).toBeGreaterThan(1);
  expect(meter.tokens).toBeLessThanOrEqual(300);
});

test("a judge's call and a repair call are counted", async () => {
  const meter = new Meter();
  const model = saying(meter, "no json");
  const guardrails = [judge({ question: "bad?", model, on: ["input", "output"] })];
  const judged = agent({ name: "judged", model, guardrails });
  await attempt({ agents: [judged], budget: { maxTokens: 700 } });
  expect(meter.calls.length).toBeGreaterThan(1);
  expect(meter.tokens).toBeLessThanOrEqual(700);
  const repaired = new Meter();
  const lead = agent({
    name: "lead",
    model: saying(repaired, "no json"),
    output: z.object({ x: z.number() }),
  });
  await attempt({ agents: [lead], budget: { maxTokens: 2_000 } });
  expect(repaired.calls.length).toBeGreaterThan(1);
  expect(repaired.tokens).toBeLessThanOrEqual(2_000);
});

const short = [ChatMessage.user("x".repeat(200))];

test("25 concurrent calls of a layer share the budget; after the run no call is made", async () => {
  const meter = new Meter();
  let kept: StepScope | undefined;
  const greedy: ChatMiddleware = {
    async process({ scope }, next) {
      kept = scope;
      await Promise.allSettled(Array.from({ length: 25 }, () => scope.llm(short, { maxOutputTokens: 100 })));
      await next();
    },
  };
  const lead = agent({ name: "lead", model: saying(meter), middleware: { chat: [greedy] } });
  await using runtime = createRuntime({ agents: [lead], maxRestarts: 0 });
  await (await runtime.start(lead, "go", { budget: { maxTokens: 3_000 } })).result();
  const calls = meter.calls.length;
  expect(calls).toBeGreaterThan(1);
  expect(meter.tokens).toBeLessThanOrEqual(3_000);
  await expect(kept?.llm(short, { maxOutputTokens: 100 })).rejects.toThrow(/./);
  expect(meter.calls).toHaveLength(calls);
});

const topUpAgain = (run: RunHandle): Promise<unknown> =>
  Promise.allSettled(Array.from({ length: 20 }, () => run.topUp({ maxTokens: 1_000 }, { id: "same" })));

test("a top-up that is sent 20 times under one id counts once", async () => {
  const meter = new Meter();
  const lead = agent({ name: "lead", model: looking(meter, 100), tools: [look] });
  await attempt({ agents: [lead], budget: { maxTokens: 6_000 }, act: topUpAgain });
  expect(meter.calls.length).toBeGreaterThan(1);
  expect(meter.tokens).toBeLessThanOrEqual(7_000);
});

test("text with multi-byte characters counts by its bytes", async () => {
  const meter = new Meter();
  const lead = agent({ name: "lead", model: saying(meter) });
  await attempt({ agents: [lead], budget: { maxTokens: 500 }, input: "👩‍👩‍👧‍👦ﷺ\u{E0001}\ud800".repeat(20) });
  // 700 bytes do not fit, although they are fewer characters: a summary of them is sent.
  expect(meter.calls).toHaveLength(1);
  expect(meter.tokens).toBeLessThanOrEqual(500);
});

test("a run that calls continueAs without end is stopped by its cap", async () => {
  const meter = new Meter();
  const model = meteredModel({ meter, answer: () => ({ text: "ok", output: 50 }) });
  const lead = named(
    "lead",
    async (ctx) => {
      await ctx.llm([ChatMessage.user("x")], { maxOutputTokens: 50 });
      return ctx.continueAs(null);
    },
    model,
  );
  await attempt({ agents: [lead], budget: { maxTokens: 800 } });
  expect(meter.calls.length).toBeGreaterThan(3);
  expect(meter.tokens).toBeLessThanOrEqual(800);
});
