import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { generateText, isStepCount, streamText, tool, ToolLoopAgent } from "ai";
import { BudgetExhaustedError } from "reeve";
import { govern } from "reeve/govern";
import type { ProviderRequest, FakeProvider } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDouble } from "../testing/real-providers.ts";

const limit = 3_000;
const writerCalls = 12;
const prices = { any: { input: 2_000_000, output: 8_000_000 } };

/** A parent calls a child, which makes twelve long calls before it answers. */
function script({ model, messages, tools }: ProviderRequest) {
  const turn = messages.filter(({ role }) => role === "assistant").length;
  if (model === "lead" && turn === 0) return { toolCalls: [{ name: "ask", input: {} }] };
  if (model === "writer" && turn < writerCalls - 1 && tools.length > 0)
    return { toolCalls: [{ name: "note", input: {} }], outputTokens: 1_000 };
  return { text: "done", outputTokens: model === "writer" ? 1_000 : 20 };
}

const open = (double: FakeProvider) => {
  const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "none" });
  return (id: string) => openai.chat(id);
};

const costOfBill = ({ bill }: FakeProvider): number => {
  const { inputTokens, outputTokens } = bill.total();
  return inputTokens + outputTokens;
};

/** The SDK's own idioms: a sub-agent is a tool that calls `generate`, a token limit is a stop condition. */
async function leadAndWriter(model: (id: string) => LanguageModelV4): Promise<unknown> {
  const note = tool({ inputSchema: z.object({}), execute: () => "noted" });
  const writer = new ToolLoopAgent({ model: model("writer"), tools: { note }, stopWhen: isStepCount(50) });
  const ask = tool({
    inputSchema: z.object({}),
    execute: async () => (await writer.generate({ prompt: "go" })).text,
  });
  const lead = new ToolLoopAgent({
    model: model("lead"),
    tools: { ask },
    stopWhen: ({ steps }) => steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0) >= limit,
  });
  return await lead.generate({ prompt: "go" });
}

test("without govern, a stop condition of the AI SDK lets a child spend four times the limit", async () => {
  const double = await openDouble({ script });
  await leadAndWriter(open(double));
  expect(costOfBill(double)).toBeGreaterThan(4 * limit);
});

test("one account for the same agents keeps the limit, by the provider's own bill", async () => {
  const double = await openDouble({ script });
  const model = open(double);
  const governed = (id: string) => govern(model(id), { maxOutputTokens: 1_000 });
  const spend = await govern.run({ budget: { maxTokens: limit } }, async (account) => {
    await expect(leadAndWriter(governed)).rejects.toThrow(BudgetExhaustedError);
    return account.spend;
  });
  expect(costOfBill(double)).toBeLessThanOrEqual(limit);
  expect(costOfBill(double)).toBeGreaterThan(limit / 2);
  expect(spend.settled.tokens).toBe(costOfBill(double));
});

test("a refused call fails with the error of the budget, and the AI SDK does not make it again", async () => {
  const double = await openDouble();
  const model = govern(open(double)("any"), { budget: { maxTokens: 10 } });
  const refused = generateText({ model, prompt: "Where is the pump?" });
  await expect(refused).rejects.toThrow(BudgetExhaustedError);
  await expect(refused).rejects.toMatchObject({ dimension: "tokens", limit: 10, used: 0 });
  expect(double.bill.entries).toEqual([]);
});

test("every retry of the AI SDK has its own reservation, and one that cost nothing leaves nothing", async () => {
  let calls = 0;
  const double = await openDouble({
    script: () =>
      ++calls === 1 ? { fault: { kind: "rate-limit", retryAfterMs: 1 } } : { text: "at the brook" },
  });
  const reserved: unknown[] = [];
  const model = govern(open(double)("any"), {
    budget: { maxCostUsd: 0.1 },
    prices,
    onEvent: (event) => void (event.type === "budget.reserved" && reserved.push(event.attempt)),
  });
  const { text } = await generateText({ model, prompt: "Where is the pump?" });
  expect(text).toBe("at the brook");
  expect(new Set(reserved).size).toBe(2);
  expect(model.account.spend.settled.costMicros).toBe(double.bill.costMicros(prices));
  expect(model.account.spend.inDoubt.costMicros).toBe(0);
});

test("a stream is settled at its end", async () => {
  const double = await openDouble({ script: () => ({ text: "at the brook" }) });
  const model = govern(open(double)("any"), { budget: { maxTokens: 5_000 } });
  const { textStream } = streamText({ model, prompt: "Where is the pump?" });
  let text = "";
  for await (const delta of textStream) text += delta;
  expect(text).toBe("at the brook");
  expect(model.account.spend).toMatchObject({
    settled: { tokens: costOfBill(double) },
    reserved: { tokens: 0 },
    inDoubt: { tokens: 0 },
  });
});

test("an aborted stream stays booked at its ceiling", async () => {
  const double = await openDouble({
    script: () => ({ text: "word ".repeat(50), fault: { kind: "hang", afterBytes: 2_000 } }),
  });
  const model = govern(open(double)("any"), { budget: { maxTokens: 5_000 } });
  const abort = new AbortController();
  const { fullStream } = streamText({ model, prompt: "Where is the pump?", abortSignal: abort.signal });
  for await (const { type } of fullStream) if (type === "text-delta") abort.abort();
  const { settled, reserved, inDoubt } = model.account.spend;
  expect([settled.tokens, reserved.tokens]).toEqual([0, 0]);
  expect(inDoubt.tokens).toBeGreaterThanOrEqual(costOfBill(double));
  expect(model.account.doubts).toHaveLength(1);
});
