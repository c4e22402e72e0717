import {
  BudgetExhaustedError,
  ChatMessage,
  type Ended,
  type Json,
  type Model,
  type RunContext,
} from "#kernel";

/** What landing needs to know. */
export interface LandingState {
  readonly ctx: RunContext;
  readonly messages: readonly ChatMessage[];
  readonly model: Model;
}

/** The last call is never shown more than this many bytes, however large the slice. */
const longestPrompt = 16_384;
const shortestPrompt = 256;
/** What the prompt says besides, and what a provider may add around it. */
const overhead = 192;

/**
 * A budget is used up. One last call without tools, from the slice kept for it, makes an answer of what there is; if
 * even that does not fit, the last words are the answer. Never one call before the answer, never a call without money.
 * @throws BudgetExhaustedError where a single turn was all there ever was: nothing is kept of it.
 */
export async function land(
  { ctx, messages, model }: LandingState,
  stop: BudgetExhaustedError,
): Promise<Ended> {
  if (stop.dimension === "turns" && stop.limit <= 1) throw stop;
  const stopReason = `budget.${stop.dimension}` as const;
  const ended = (output: Json): Ended => ({ kind: "ended", status: "landed", stopReason, output });
  try {
    const prompt = landingPrompt(messages, roomFor(stop, model));
    const { message } = await ctx.llm(prompt, { landing: true });
    return ended(ChatMessage.text(message));
  } catch (error) {
    if (!(error instanceof BudgetExhaustedError)) throw error;
    return ended(lastWords(messages));
  }
}

/** Bytes for the prompt: half the slice, which is a tenth of the limit. A token is never less than a byte. */
function roomFor({ dimension, limit }: BudgetExhaustedError, { price }: Model): number {
  const half = limit / 20;
  const tokens = dimension === "cost" ? half / ((price?.input ?? Infinity) / 1_000_000) : half;
  const room = dimension === "tokens" || dimension === "cost" ? tokens : longestPrompt;
  return Math.max(shortestPrompt, Math.min(longestPrompt, Math.floor(room))) - overhead;
}

/** Task, last words and newest results, cut to fit. */
function landingPrompt(messages: readonly ChatMessage[], room: number): readonly ChatMessage[] {
  const task = messages.find(({ role }) => role === "user");
  const asked = cut(task ? ChatMessage.text(task) : "", Math.floor(room / 4));
  const notes: string[] = [];
  let left = room - bytes(asked);
  for (const message of messages.toReversed()) {
    const text = message === task ? "" : notesOf(message);
    if (text === "") continue;
    const fitting = cut(text, left);
    notes.unshift(fitting);
    left -= bytes(fitting) + 1;
    if (left <= 0) break;
  }
  const so = `Task: ${asked}\n\nSo far:\n${notes.join("\n")}\n\n`;
  return [
    ChatMessage.user(`${so}The budget is used up. Give the best answer you can now, in a few sentences.`),
  ];
}

function notesOf(message: ChatMessage): string {
  if (message.role === "assistant") return ChatMessage.text(message);
  if (message.role !== "tool") return "";
  const results = message.content.flatMap((block) => (block.type === "tool-result" ? block.content : []));
  return results.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

function lastWords(messages: readonly ChatMessage[]): string | null {
  const last = messages.findLast(
    (message) => message.role === "assistant" && ChatMessage.text(message) !== "",
  );
  return last ? ChatMessage.text(last) : null;
}

const encoder = new TextEncoder();

const bytes = (text: string): number => encoder.encode(text).length;

/** The beginning of a text, as far as it fits. A character cut in half is left out. */
function cut(text: string, room: number): string {
  const encoded = encoder.encode(text);
  if (encoded.length <= room) return text;
  return new TextDecoder().decode(encoded.subarray(0, Math.max(0, room)), { stream: true });
}
