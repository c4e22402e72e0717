import { Labels, type EntryId, type SessionEntry } from "#kernel";
import { estimateTokens } from "#models";
import { findCut, type Cut, type CutItem, type CutOptions } from "./find-cut.ts";
import { toEntryMessage } from "./prompt-window.ts";
import type { Session } from "./session.ts";

/** A conversation with the position of its cut. */
interface SessionCut extends Cut {
  /** The first entry that stays unchanged. */
  readonly keptFrom: EntryId;
  /** The summary of the last compaction. Null: none. */
  readonly previous: string | null;
  /** The tokens of all messages that were read. */
  readonly tokens: number;
  /** The labels of everything that the summary covers. */
  readonly labels: Labels;
}

/** Reads a conversation back to its last compaction, and finds the cut. Null: there is nothing to summarize. */
export async function readCut(
  session: Session,
  at: EntryId,
  options: CutOptions,
): Promise<SessionCut | null> {
  const read: SessionEntry[] = [];
  let last: Extract<SessionEntry, { readonly type: "compaction" }> | null = null;
  for await (const entry of session.path(at)) {
    if (entry.type === "compaction") last ??= entry;
    read.push(entry);
    if (entry.id === last?.keptFrom) break;
  }
  // There are no messages since the last compaction.
  if (read[0] === last) return null;
  const entries = read.toReversed();
  const items = entries.flatMap((entry): readonly CutItem[] => {
    const message = toEntryMessage(entry);
    const tokens = entry.tokens ?? (message ? estimateTokens([message]) : 0);
    return message ? [{ message, tokens, id: entry.id, mayLead: entry.type === "message" }] : [];
  });
  const cut = findCut(items, options);
  const keptFrom = cut && items[cut.at]?.id;
  if (!cut || !keptFrom) return null;
  const end = entries.findIndex(({ id }) => id === keptFrom);
  const labels = entries.slice(0, end).reduce((sum, entry) => Labels.join(sum, entry.labels), Labels.none);
  const total = items.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    ...cut,
    keptFrom,
    tokens: total,
    previous: last?.summary ?? null,
    labels: Labels.join(labels, last?.labels),
  };
}
