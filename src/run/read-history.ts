import { readPromptWindow, repairPrompt, type PromptWindow, type Session } from "#agents";
import {
  Labels,
  RetryableError,
  TurnLostError,
  type ChatMessage,
  type EntryId,
  type HistoryProvider,
  type HistoryRequest,
  type RunScope,
} from "#kernel";
import { estimateTokens } from "#models";
import type { HistoryLimits } from "./context-limits.ts";
import { nameFiles } from "./read-files.ts";

/** Reads the messages before a turn from the store, and remembers the entry of each. */
export async function readStored(
  session: Session,
  { at, ...limits }: HistoryLimits & { readonly at: EntryId | null },
  entries: WeakMap<ChatMessage, EntryId>,
): Promise<PromptWindow> {
  if (at === null) return { messages: [], entries: new Map(), from: null, labels: Labels.none, tokens: 0 };
  const window = await readPromptWindow(session, { at, ...limits });
  const messages = window.messages.map((message) => {
    const named = nameFiles(message);
    const entry = window.entries.get(message);
    if (entry !== undefined) entries.set(named, entry);
    return named;
  });
  return { ...window, messages };
}

/** Reads the messages before a turn from the agent's own provider. */
export async function readProvided(
  provider: HistoryProvider,
  { sessionId: id, userId, tenantId }: RunScope,
  request: Pick<HistoryRequest, "at" | "maxTokens">,
): Promise<PromptWindow> {
  const { messages, labels = {} } = await provider.read({ session: { id, userId, tenantId }, ...request });
  const shown = repairPrompt(messages);
  const tokens = estimateTokens(shown);
  return { messages: shown, entries: new Map(), from: null, labels: Labels.of(labels), tokens };
}

/** Converts an error of a store into a retryable one: an unreachable store may come back. A lost turn stays lost. */
export function toRetryableError(error: unknown): RetryableError | TurnLostError {
  if (error instanceof RetryableError || error instanceof TurnLostError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new RetryableError({ message: `the conversation cannot be reached in the store: ${why}` });
}
