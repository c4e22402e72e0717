import { createOpenAI } from "@ai-sdk/openai";
import { agent, createRuntime, languageModel, type ExecutionBudget, type RunResult } from "reeve";
import { providerDouble, type DoubleAnswer, type DoubleRequest } from "reeve/testing";

const price = { input: 2_000_000, output: 8_000_000 };
const helpers = 20;

/** The outcome of one tree under a cap, according to the fake provider's bill. */
export interface CappedTree {
  readonly result: RunResult;
  /** The provider's bill, in tokens or micro-dollars. */
  readonly bill: number;
  readonly answered: number;
}

/** Runs a parent that spawns twenty children at once under a cap of the whole tree, against the fake provider. */
export async function cappedTree(seed: number, budget: ExecutionBudget): Promise<CappedTree> {
  const double = await providerDouble({ script: (request) => answer(request, seed), seed });
  try {
    const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "none" });
    const model = (name: string) => languageModel(openai.chat(name), { price, maxOutputTokens: 1_000 });
    const helper = agent({ name: "helper", model: model("helper"), instructions: "Answer at length." });
    const boss = agent({ name: "boss", model: model("boss"), team: [helper] });
    await using runtime = createRuntime({ agents: [boss, helper] });
    const run = await runtime.start(boss, "Survey the parish", { budget, spawn: { maxAgents: 50 } });
    const result = await run.result();
    let answered = 0;
    for await (const event of run.events()) {
      if (event.type === "run.end" && event.agent === "helper" && event.status === "completed") answered += 1;
    }
    const { inputTokens, outputTokens } = double.bill.total();
    const prices = { boss: price, helper: price };
    const bill = budget.maxTokens === undefined ? double.bill.costMicros(prices) : inputTokens + outputTokens;
    return { result, bill, answered };
  } finally {
    await double.close();
  }
}

/** The parent calls twenty at once, then summarises; a child would produce 700 to 1,300 words. */
function answer({ model, messages, tools }: DoubleRequest, seed: number): DoubleAnswer {
  const hasAsked = messages.some(({ role }) => role === "assistant" || role === "tool");
  if (model === "boss" && !hasAsked && tools.length > 0) {
    const toolCalls = Array.from({ length: helpers }, (_, n) => ({
      name: "ask_helper",
      input: { task: `field ${n}` },
    }));
    return { toolCalls };
  }
  const task = JSON.stringify(messages);
  const length = model === "boss" ? 60 : 700 + ((seed * 7919 + task.length * 104_729) % 600);
  return { text: "word ".repeat(length) };
}
