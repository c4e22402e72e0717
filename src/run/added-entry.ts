import type { ChatMessage, EntryBase, ExtensionEntry, Labels, SessionEntry } from "#kernel";
import { estimateTokens } from "#models";

/** A message of a turn, or an entry that an extension has added to it. */
export interface AddedEntry {
  readonly number: number;
  readonly said: { readonly message: ChatMessage } | ExtensionEntry;
  readonly labels: Labels | undefined;
  readonly told: SessionEntry["told"];
}

/**
 * Returns the entry of a message, or of an extension, at its position in the conversation. Later turns need its size.
 * An unnamed conversation has no later turns.
 */
export function toEntry(
  { said, labels, told }: AddedEntry,
  { isNamed, ...place }: Pick<EntryBase, "id" | "parentId" | "at" | "branch"> & { readonly isNamed: boolean },
): SessionEntry {
  const base = { ...place, ...(labels && { labels }) };
  if ("type" in said) return { ...base, ...said };
  const { message } = said;
  const size = isNamed && { tokens: estimateTokens([message]) };
  return { ...base, type: "message", message, ...size, ...(told && { told }) };
}
