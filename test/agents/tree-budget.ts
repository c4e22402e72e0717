import { createOpenAI } from "@ai-sdk/openai";
import { agent, createRuntime, languageModel, type ExecutionBudget, type RunResult } from "reeve";
import { fakeProvider, type ProviderAnswer, type ProviderRequest } from "reeve/testing";

const price = { input: 2_000_000, output: 8_000_000 };
const writers = 20;

/** The outcome of one tree under a cap, according to the fake provider's bill. */
export interface CappedTree {
  readonly result: RunResult;
  /** The provider's bill, in tokens or micro-dollars. */
  readonly bill: number;
  readonly answered: number;
}

/** Runs a parent that spawns twenty children at once under a cap of the whole tree, against the fake provider. */
export async function runCappedTree(seed: number, budget: ExecutionBudget): Promise<CappedTree> {
  const double = await fakeProvider({ script: (request) => answer(request, seed), seed });
  try {
    const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "none" });
    const model = (name: string) => languageModel(openai.chat(name), { price, maxOutputTokens: 1_000 });
    const writer = agent({ name: "writer", model: model("writer"), instructions: "Answer at length." });
    const lead = agent({ name: "lead", model: model("lead"), team: [writer] });
    await using runtime = createRuntime({ agents: [lead, writer] });
    const run = await runtime.start(lead, "Survey the parish", { budget, spawn: { maxAgents: 50 } });
    const result = await run.result();
    let answered = 0;
    for await (const event of run.events()) {
      if (event.type === "run.end" && event.agent === "writer" && event.status === "completed") answered += 1;
    }
    const { inputTokens, outputTokens } = double.bill.total();
    const prices = { lead: price, writer: price };
    const bill = budget.maxTokens === undefined ? double.bill.costMicros(prices) : inputTokens + outputTokens;
    return { result, bill, answered };
  } finally {
    await double.close();
  }
}

/** The parent calls twenty at once, then summarises; a child would produce 700 to 1,300 words. */
function answer({ model, messages, tools }: ProviderRequest, seed: number): ProviderAnswer {
  const hasAsked = messages.some(({ role }) => role === "assistant" || role === "tool");
  if (model === "lead" && !hasAsked && tools.length > 0) {
    const toolCalls = Array.from({ length: writers }, (_, n) => ({
      name: "ask_writer",
      input: { task: `field ${n}` },
    }));
    return { toolCalls };
  }
  const task = JSON.stringify(messages);
  const length = model === "lead" ? 60 : 700 + ((seed * 7919 + task.length * 104_729) % 600);
  return { text: "word ".repeat(length) };
}
