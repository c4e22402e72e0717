import { ChatMessage, MemoryItem, type Embedder, type SavedTurn, type SavedTurnHandler } from "#kernel";

/** Returns what puts the messages of a saved turn into the index. Made again, it changes nothing. */
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

/** Results of tools are left out: `recall` would find its own results. */
const spoken: ReadonlySet<ChatMessage["role"]> = new Set(["user", "assistant"] as const);
