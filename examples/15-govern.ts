// Agents of another framework, here the AI SDK's, under one hard limit: a parent, its child and every retry share it.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { isStepCount, tool, ToolLoopAgent } from "ai";
import { govern } from "reeve/govern";
import { BudgetExhaustedError } from "reeve";
import { commandScript, fakeProvider } from "reeve/testing";
import { z } from "zod";

// A provider on this machine, with its own bill. Its model follows commands.
await using provider = await fakeProvider({
  script: async (asked) => ({ ...(await commandScript()(asked)), outputTokens: 400 }),
});
const openai = createOpenAI({ baseURL: provider.baseURL, apiKey: "none" });
const model = govern(openai.chat("double"), {
  prices: { double: { input: 3_000_000, output: 15_000_000 } }, // 3 and 15 dollars for a million tokens
  maxOutputTokens: 500,
});

const search = tool({ inputSchema: z.object({}), execute: () => "nothing found" });
const writer = new ToolLoopAgent({ model, tools: { search }, stopWhen: isStepCount(50) });
const ask = tool({
  inputSchema: z.object({}),
  execute: async () =>
    (await writer.generate({ prompt: "call search\n" + "then call search\n".repeat(20) })).text,
});
const lead = new ToolLoopAgent({ model, tools: { ask }, stopWhen: isStepCount(50) });

const cap = 0.05; // dollars, for everything that is called inside, however deep
const ended = await govern.run({ budget: { maxCostUsd: cap } }, async (account) => {
  const error = await lead.generate({ prompt: "call ask" }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, spend: account.spend };
});

const { inputTokens, outputTokens } = provider.bill.total();
const bill = inputTokens * 3 + outputTokens * 15; // micro-dollars, by the provider's own books
console.log(`${bill} of ${cap * 1e6} micro-dollars in ${ended.spend.turns} calls`);
assert.ok(bill <= cap * 1e6);
assert.ok(bill > cap * 1e6 * 0.8);
assert.ok(ended.error instanceof BudgetExhaustedError); // the parent had no budget left for its answer
assert.equal(ended.spend.settled.costMicros, bill);
assert.equal(model.account.spend.settled.costMicros, bill); // what this model cost, here and elsewhere
