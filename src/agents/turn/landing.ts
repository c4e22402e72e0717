import {
  BudgetExhaustedError,
  ChatMessage,
  type DenialReason,
  Ended,
  type LlmOptions,
  type Model,
  type RunContext,
} from "#kernel";
import { partialAnswer } from "./answer.ts";
import { appendMessage } from "./say.ts";
import { OutputForm } from "./structured-output.ts";

/** The options of an agent for all its calls. */
export type CallOptions = Pick<LlmOptions, "settings" | "providerOptions">;

/** The state of a turn that landing needs. */
export interface LandingState {
  readonly ctx: RunContext;
  /** Grows by the last answer. */
  readonly messages: ChatMessage[];
  readonly model: Model;
  /** Undefined: text. */
  readonly output: OutputForm | undefined;
  readonly request: CallOptions;
  /** The summary that replaces the turn's first messages. Null: the turn has all of them. */
  readonly summary: string | null;
}

/** Maximum bytes of the last call's prompt, for any size of the slice. */
const longestPrompt = 16_384;
const shortestPrompt = 256;
/** The refusals after which a call without tools, from the landing slice, may still fit. */
const shortages: ReadonlySet<DenialReason> = new Set(["exhausted", "wait-timed-out"]);
/** Approximate size of the prompt's fixed text, and of a provider's additions. */
const overhead = 192;

/**
 * Ends a run whose budget is used up. One last call without tools, from the landing slice, creates an answer from the
 * work so far. If that does not fit or is empty, the last text so far is the answer. With a schema only a matching text
 * is an answer. @throws BudgetExhaustedError if there is no answer, or if the limit was a single turn.
 */
export async function land(state: LandingState, stop: BudgetExhaustedError): Promise<Ended> {
  const { messages } = state;
  if (stop.dimension === "turns" && stop.limit <= 1) throw stop;
  const hasAnswered = state.summary !== null || messages.some(({ role }) => role === "assistant");
  const isShort = stop.reason === null || shortages.has(stop.reason);
  if (!isShort && !hasAnswered) throw stop;
  const said = textsOf(messages);
  // Nothing begins on an account that is exceeded.
  const texts = stop.reason === "exceeded" ? said : [await lastCall(state, stop), ...said];
  const answer = await partialAnswer(state, texts);
  if (!answer && (state.output || !hasAnswered)) throw stop;
  const stopReason = `budget.${stop.dimension}` as const;
  return Ended.of({ status: "landed", stopReason, output: answer?.value ?? null, error: stop.toJSON() });
}

/** Ends a run whose last answer was truncated by the budget. */
export async function landCut(
  state: Pick<LandingState, "ctx" | "messages" | "output">,
  dimension: "tokens" | "cost",
): Promise<Ended> {
  const stopReason = `budget.${dimension}` as const;
  const answer = await partialAnswer(state, textsOf(state.messages));
  if (answer || !state.output)
    return Ended.of({ status: "landed", stopReason, output: answer?.value ?? null });
  const message = `the ${dimension} budget cut off the last answer, and no earlier text matches the output schema`;
  return Ended.of({ status: "failed", stopReason, output: null, error: { code: "output", message } });
}

/** Returns the last text of the model, unless output guardrails must check it: after a cancel they cannot. */
export function unguardedText({
  ctx,
  messages,
}: {
  readonly ctx: RunContext;
  readonly messages: readonly ChatMessage[];
}): string | null {
  const [text] = textsOf(messages);
  try {
    return text !== undefined && ctx.checkGuardrails("output", text) === null ? text : null;
  } catch {
    return null;
  }
}

/** Makes the last call. Returns an empty text if there is no money for it. */
async function lastCall(
  { ctx, messages, model, output, request, summary }: LandingState,
  stop: BudgetExhaustedError,
): Promise<string> {
  const form = output ? OutputForm.instruction(output) : inSentences;
  try {
    const told = summary === null ? messages : [ChatMessage.user(summary), ...messages];
    const prompt = landingPrompt(told, { room: roomFor(stop, model) - bytes(form), form });
    const { message } = await ctx.llm(prompt, { ...request, landing: true });
    const text = ChatMessage.text(message);
    if (text !== "") appendMessage({ ctx, messages }, ChatMessage.assistant(text));
    return text;
  } catch (error) {
    if (error instanceof BudgetExhaustedError) return "";
    throw error;
  }
}

const inSentences = "Give the best answer you can now, in a few sentences.";

/** Returns the bytes for the prompt: half the slice, which is a tenth of the limit. A token has at least one byte. */
function roomFor({ dimension, limit }: BudgetExhaustedError, { price }: Model): number {
  const half = limit / 20;
  const tokens = dimension === "cost" ? half / ((price?.input ?? Infinity) / 1_000_000) : half;
  const room = dimension === "tokens" || dimension === "cost" ? tokens : longestPrompt;
  return Math.max(shortestPrompt, Math.min(longestPrompt, Math.floor(room))) - overhead;
}

/**
 * Returns the prompt of the last call: task, last texts and newest results, cut to fit; then the form of the answer.
 */
function landingPrompt(
  messages: readonly ChatMessage[],
  { room, form }: { readonly room: number; readonly form: string },
): readonly ChatMessage[] {
  const task = messages.find(({ role }) => role === "user");
  const asked = cutToBytes(task ? ChatMessage.text(task) : "", Math.floor(room / 4));
  const notes: string[] = [];
  let left = room - bytes(asked);
  for (const message of messages.toReversed()) {
    const text = message === task ? "" : notesOf(message);
    if (text === "") continue;
    const fitting = cutToBytes(text, left);
    notes.unshift(fitting);
    left -= bytes(fitting) + 1;
    if (left <= 0) break;
  }
  const so = `Task: ${asked}\n\nSo far:\n${notes.join("\n")}\n\n`;
  return [ChatMessage.user(`${so}The budget is used up. ${form}`)];
}

function notesOf(message: ChatMessage): string {
  if (message.role === "assistant") return ChatMessage.text(message);
  if (message.role !== "tool") return "";
  const results = message.content.flatMap((block) => (block.type === "tool-result" ? block.content : []));
  return results.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** Maximum number of the model's texts that are tried as the output, the newest first. */
const maxTexts = 3;

function textsOf(messages: readonly ChatMessage[]): readonly string[] {
  const texts = messages.flatMap((message) =>
    message.role === "assistant" ? [ChatMessage.text(message)] : [],
  );
  return texts
    .filter((text) => text !== "")
    .toReversed()
    .slice(0, maxTexts);
}

const encoder = new TextEncoder();

const bytes = (text: string): number => encoder.encode(text).length;

/** Returns the beginning of a text, as far as it fits. A character cut in half is left out. */
function cutToBytes(text: string, room: number): string {
  const encoded = encoder.encode(text);
  if (encoded.length <= room) return text;
  return new TextDecoder().decode(encoded.subarray(0, Math.max(0, room)), { stream: true });
}
