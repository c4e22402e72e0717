import type { ChatMessage, EntryBase, ExtensionEntry, Labels, SessionEntry } from "#kernel";
import { estimateTokens } from "#models";

/** A message of a turn, or an entry that an extension has added to it. */
export interface Added {
  readonly number: number;
  readonly said: { readonly message: ChatMessage } | ExtensionEntry;
  readonly labels: Labels | undefined;
  readonly told: SessionEntry["told"];
}

/** Returns the entry of a message, or of an extension, at its place in the conversation. */
export function toEntry(
  { said, labels, told }: Added,
  place: Pick<EntryBase, "id" | "parentId" | "at" | "branch">,
): SessionEntry {
  const base = { ...place, ...(labels && { labels }) };
  if ("type" in said) return { ...base, ...said };
  const { message } = said;
  return { ...base, type: "message", message, tokens: estimateTokens([message]), ...(told && { told }) };
}
