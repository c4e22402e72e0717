import { ChatMessage, MemoryItem, toTerms, type SavedTurn } from "#kernel";

/** Puts the messages of a saved turn into the index. Made again, it changes nothing. */
export async function indexTurn({ sessionId, entries, memory }: SavedTurn): Promise<void> {
  const found = entries.flatMap((entry) => {
    if (entry.type !== "message" || !spoken.has(entry.message.role)) return [];
    const terms = toTerms(ChatMessage.text(entry.message));
    return terms.length === 0 ? [] : [{ item: MemoryItem.episode(sessionId, entry.id), at: entry.at, terms }];
  });
  if (found.length > 0) await memory.index(found);
}

/** Results of tools are left out: `recall` would find its own results. */
const spoken: ReadonlySet<ChatMessage["role"]> = new Set(["user", "assistant"] as const);
