import type { EntryId, RunId } from "./ids.ts";
import type { SessionEntry } from "./session.ts";
import type { AppendFence } from "./store.ts";

/**
 * Follows a turn from its last entry back to where it begins. `parents` maps the entries of the turn's branch to their
 * parents. Returns the first entry on the way that is not of the turn: the one that the turn begins below, or one that is
 * missing. Null: the turn begins at the root.
 */
export function findTurnStart(parents: ReadonlyMap<EntryId, EntryId | null>, last: EntryId): EntryId | null {
  const seen = new Set<EntryId>();
  let at: EntryId | null = last;
  while (at !== null && parents.has(at)) {
    // A damaged store may hold a cycle. An entry of the turn is not where it begins.
    if (seen.has(at)) return at;
    seen.add(at);
    at = parents.get(at) ?? null;
  }
  return at;
}

/** Returns the root run whose turn writes these entries. Null: no turn does. */
export function findTurn(entries: readonly SessionEntry[], { turn }: AppendFence): RunId | null {
  return turn ?? entries.find(({ branch }) => branch !== null)?.branch ?? null;
}
