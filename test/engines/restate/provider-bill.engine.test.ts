import { randomUUID } from "node:crypto";
import { createAnthropic } from "@ai-sdk/anthropic";
import { agent, createRuntime, languageModel, tool } from "reeve";
import { type Price } from "#kernel";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { fakeProvider } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const look = tool({
  name: "look",
  description: "look",
  input: z.object({ query: z.string() }),
  risk: "safe",
  execute: async () => "found",
});

test("3.6 a provider's bill stays below the cap, and no second price of its model can enter", async () => {
  await using double = await fakeProvider();
  const anthropic = createAnthropic({ baseURL: double.baseURL, apiKey: "none" });
  const dear: Price = { input: 30_000_000, output: 150_000_000 };
  const model = (price: Price) => languageModel(anthropic("claude-sonnet-4-5"), { price });
  const lead = agent({ name: "lead", model: model(dear), tools: [look] });
  const writer = agent({ name: "writer", model: model({ input: 10, output: 10 }) });
  const engine = restate({ ...server, namespace: `bill-${randomUUID()}`, log: () => undefined });
  expect(() => createRuntime({ agents: [lead, writer], engine })).toThrow(/two prices for model/);
  await using runtime = createRuntime({ agents: [lead], engine });
  await runtime.serve({ port: 0, deltas: null });
  const task = Array.from({ length: 12 }, (_, index) => `call look {"query": "${index}"}`).join("\nthen ");
  const run = await runtime.start(lead, task, { budget: { maxCostUsd: 0.2 } });
  const { stopReason } = await run.result();
  const { entries } = double.bill;
  const micros = entries.map(
    ({ inputTokens, outputTokens }) => (inputTokens * dear.input + outputTokens * dear.output) / 1_000_000,
  );
  expect(entries.length).toBeGreaterThan(1);
  expect(stopReason).toBe("budget.cost");
  expect(micros.reduce((sum, each) => sum + Math.ceil(each), 0)).toBeLessThanOrEqual(200_000);
});
