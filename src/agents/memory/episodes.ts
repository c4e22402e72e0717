import { ChatMessage, MemoryItem, type Embedder, type SavedTurn, type SavedTurnHandler } from "#kernel";

/** Returns the handler that indexes the messages of a saved turn. Idempotent. */
export const createIndexTurn =
  (embedder: Embedder | undefined): SavedTurnHandler =>
  async ({ sessionId, entries, memory }: SavedTurn) => {
    const texts = entries.flatMap((entry) => {
      if (entry.type !== "message" || !spoken.has(entry.message.role)) return [];
      const text = ChatMessage.text(entry.message);
      return text === "" ? [] : [{ item: MemoryItem.episode(sessionId, entry.id), at: entry.at, text }];
    });
    if (texts.length > 0) await memory.index(texts, embedder);
  };

/** The roles that are indexed. Tool results are left out, because `recall` would find its own results. */
const spoken: ReadonlySet<ChatMessage["role"]> = new Set(["user", "assistant"] as const);
