import {
  ChatMessage,
  type Agent,
  type ExecutionBudget,
  type Json,
  type LlmOptions,
  type Model,
  type Price,
  type Usage,
} from "#kernel";
import { inputBound } from "#models";
import { agentOf } from "./harness.ts";

/** One micro-dollar per token, so tokens and cost are the same number. */
export const tokenPrice: Price = { input: 1_000_000, output: 1_000_000 };

/** The prompt of all cases. */
export const prompt = [ChatMessage.user("hi")];
const promptTokens = inputBound(prompt);

/** Returns options of a call that reserves exactly this many tokens, or is not made. */
export const ask = (tokens: number, rest: LlmOptions = {}): LlmOptions => ({
  maxOutputTokens: tokens - promptTokens,
  minOutputTokens: tokens - promptTokens,
  ...rest,
});

/** Converts micro-dollars to dollars. */
export const micros = (amount: number): number => amount / 1_000_000;

/** A model that uses all it was granted, and keeps the bill. */
export interface GreedyModel extends Model {
  readonly bill: readonly Usage[];
}

/** Tokens of a bill. */
export const total = (bill: readonly Usage[]): number =>
  bill.reduce((sum, { input, output }) => sum + input + output, 0);

/** A model that uses its whole grant, unless given a usage to report. */
export function greedyModel(
  options: { readonly id?: string; readonly price?: Price; readonly reports?: () => Usage | null } = {},
): GreedyModel {
  const bill: Usage[] = [];
  return {
    id: options.id ?? "greedy",
    price: options.price,
    bill,
    async generate({ messages, maxOutputTokens }) {
      const used = { input: inputBound(messages), output: maxOutputTokens };
      bill.push(used);
      const usage = options.reports ? options.reports() : used;
      return { message: ChatMessage.assistant("ok"), usage, finishReason: "stop" };
    },
  };
}

/** Creates an agent that makes these calls in sequence and returns their number. */
export function spender(
  model: Model,
  calls: readonly LlmOptions[],
  rest: { readonly name?: string; readonly budget?: ExecutionBudget } = {},
): Agent {
  const { name = "spender", ...more } = rest;
  return agentOf(
    name,
    async (ctx): Promise<Json> => {
      for (const call of calls) {
        await ctx.llm(prompt, call);
      }
      return calls.length;
    },
    { model, ...more },
  );
}
