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

/** One micro-dollar for each token: tokens and costs are the same number. */
export const tokenPrice: Price = { input: 1_000_000, output: 1_000_000 };

/** What the cases ask. */
export const prompt = [ChatMessage.user("hi")];
const promptTokens = inputBound(prompt);

/** A call that is reserved at exactly so many tokens, or not made. */
export const ask = (tokens: number, rest: LlmOptions = {}): LlmOptions => ({
  maxOutputTokens: tokens - promptTokens,
  minOutputTokens: tokens - promptTokens,
  ...rest,
});

/** So many millionths of a dollar. */
export const micros = (amount: number): number => amount / 1_000_000;

/** A model that uses all it was granted, and keeps the bill. */
export interface GreedyModel extends Model {
  readonly bill: readonly Usage[];
}

/** Tokens of a bill. */
export const total = (bill: readonly Usage[]): number =>
  bill.reduce((sum, { input, output }) => sum + input + output, 0);

/** A model that uses all it was granted, unless told what to report. */
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

/** An agent that makes these calls one after the other, and returns how many there were. */
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
