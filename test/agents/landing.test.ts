import { agent, tool, type ExecutionBudget, type Model, type ModelRequest } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "./events-of.ts";

const price = { input: 1_000_000, output: 1_000_000 };
let calls = 0;
const look = tool({
  name: "look",
  description: "Looks",
  input: z.object({ n: z.number() }),
  risk: "safe",
  execute: async ({ n }) => `fact ${n}`,
});

/** A model that goes on looking while it may, uses a lot, and sums up when it has no tools. */
function busyModel(words: string, used = 600): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: "busy",
    price,
    maxOutputTokens: 500,
    requests,
    generate: async (request) => {
      requests.push({ ...request, messages: [...request.messages] });
      const isLast = request.tools.length === 0;
      const input = { n: ++calls };
      return {
        message: {
          role: "assistant",
          content: isLast
            ? [{ type: "text", text: "summed up" }]
            : [
                { type: "text", text: words },
                { type: "tool-call", callId: `c${calls}`, name: "look", input },
              ],
        },
        usage: { input: used, output: Math.min(request.maxOutputTokens, 400) },
        finishReason: isLast ? "stop" : "tool-calls",
      };
    },
  };
}

const budgets: readonly (readonly [string, ExecutionBudget])[] = [
  ["tokens", { maxTokens: 12_000 }],
  ["cost", { maxCostUsd: 0.012 }],
  ["turns", { maxTurns: 4 }],
];

test.each(budgets)(
  "3.8 when %s is used up, the run makes one final call without tools from its slice, and lands",
  async (dimension, budget) => {
    const model = busyModel("thinking");
    const worker = agent({ name: "worker", model, tools: [look], budget });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "What is known?");
    const result = await run.result();
    expect(result).toMatchObject({
      status: "landed",
      stopReason: `budget.${dimension}`,
      output: "summed up",
    });
    const last = model.requests.at(-1);
    expect(last?.tools).toEqual([]);
    expect(JSON.stringify(last?.messages)).toContain("What is known?");
    expect(JSON.stringify(last?.messages)).toContain(`fact ${calls - 1}`);
    expect(model.requests.filter(({ tools }) => tools.length === 0)).toHaveLength(1);
    expect(model.requests.length).toBeLessThanOrEqual(budget.maxTurns ?? Infinity);
    expect(result.costMicros).toBeLessThanOrEqual(12_000);
    const events = await t.events(run);
    expect(eventsOf(events, "cycle.start")).toHaveLength(eventsOf(events, "cycle.end").length);
    expect(eventsOf(events, "turn.end")).toHaveLength(1);
  },
);

test("3.8 a run that owns no cap has no slice: it lands with its last text, without a call", async () => {
  const model = busyModel("last words");
  const writer = agent({ name: "writer", model, tools: [look] });
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("ask_writer", { task: "look around" }), say("done")], {
      id: "lead",
      maxOutputTokens: 16,
    }),
    team: [writer],
  });
  await using t = testRuntime({ agents: [lead, writer] });
  const run = await t.start(lead, "go", { budget: { maxTokens: 8_000 } });
  expect(["landed", "completed"]).toContain((await run.result()).status);
  const ends = eventsOf(await t.events(run), "run.end").filter(({ agent: who }) => who === "writer");
  expect(ends).toMatchObject([{ status: "landed", stopReason: "budget.tokens" }]);
  expect(model.requests.every(({ tools }) => tools.length > 0)).toBe(true);
});

test("3.8 if the smallest landing call does not fit, the last text is the answer; a run without text fails", async () => {
  const model = busyModel("last words", 1_000);
  const worker = agent({ name: "worker", model, tools: [look], budget: { maxTokens: 1_300 } });
  const poor = agent({ name: "poor", model, tools: [look], budget: { maxTokens: 20 } });
  await using t = testRuntime({ agents: [worker, poor] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "landed", output: "last words" });
  expect(model.requests).toHaveLength(1);
  expect(await t.run(poor, "go")).toMatchObject({ status: "failed", output: null, costMicros: 0 });
  expect(model.requests).toHaveLength(1);
});

test("3.8 maxTurns: 1 keeps its tools and never lands", async () => {
  const model = busyModel("hm");
  const worker = agent({ name: "worker", model, tools: [look], budget: { maxTurns: 1 } });
  const researcher = agent({
    name: "researcher",
    model: scriptedModel([say("hello")]),
    tools: [look],
    budget: { maxTurns: 1 },
  });
  await using t = testRuntime({ agents: [worker, researcher] });
  expect(await t.run(researcher, "go")).toMatchObject({ status: "completed", output: "hello" });
  expect(await t.run(worker, "go")).toMatchObject({
    status: "failed",
    stopReason: "budget.turns",
    error: { code: "budget-exhausted", dimension: "turns", limit: 1, used: 1 },
  });
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]?.tools).toHaveLength(1);
});
