import { BudgetExhaustedError, ChatMessage, type Ended, type Json, type RunContext } from "#kernel";

/** Characters of the newest results that the last call is shown. */
const longestNotes = 4_000;
const longestTask = 2_000;

/** What landing needs to know. */
export interface LandingState {
  readonly ctx: RunContext;
  readonly messages: readonly ChatMessage[];
}

/**
 * A budget is used up. One last call without tools, from the slice kept for it, makes an answer of what there is; if
 * even that does not fit, the last words are the answer. Never one call before the answer, never a call without money.
 */
export async function land({ ctx, messages }: LandingState, stop: BudgetExhaustedError): Promise<Ended> {
  const stopReason = `budget.${stop.dimension}` as const;
  const ended = (output: Json): Ended => ({ kind: "ended", status: "landed", stopReason, output });
  try {
    const { message } = await ctx.llm(landingPrompt(messages), { landing: true });
    return ended(ChatMessage.text(message));
  } catch (error) {
    if (!(error instanceof BudgetExhaustedError)) throw error;
    return ended(lastWords(messages));
  }
}

/** Task, last words and newest results, cut to fit a small slice. */
function landingPrompt(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const task = messages.find(({ role }) => role === "user");
  const notes: string[] = [];
  let room = longestNotes;
  for (const message of messages.toReversed()) {
    const text = message === task ? "" : notesOf(message);
    if (text === "") continue;
    notes.unshift(text.slice(0, room));
    room -= text.length;
    if (room <= 0) break;
  }
  const asked = task ? ChatMessage.text(task).slice(0, longestTask) : "";
  return [
    ChatMessage.user(
      `Task: ${asked}\n\nSo far:\n${notes.join("\n")}\n\nThe budget is used up. Give the best answer you can now, in a few sentences.`,
    ),
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
