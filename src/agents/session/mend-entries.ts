import type { EntryId, RunId, SessionEntry } from "#kernel";

/**
 * Makes a forest of entries that may hang in the air or in a circle: parents before their children, and each path ends
 * at a root. An entry that cannot hang where it says (its parent is missing, is one of its own descendants, or is on
 * another helper's branch, which may be dropped) is hung below the one that precedes it on its branch. In a
 * conversation with a line missing that is where it belongs.
 */
export function mendEntries(entries: ReadonlyMap<EntryId, SessionEntry>): {
  readonly mended: readonly SessionEntry[];
  /** How many had to be hung elsewhere. */
  readonly moved: number;
} {
  const settled = new Map<EntryId, SessionEntry>();
  const newest = new Map<RunId | null, EntryId>();
  let moved = 0;
  for (const entry of entries.values()) {
    for (const unsettled of ancestry(entry, entries, settled).toReversed()) {
      const fits = mayHang(unsettled, settled);
      const parentId = fits ? unsettled.parentId : (newest.get(unsettled.branch) ?? null);
      if (!fits) moved += 1;
      settled.set(unsettled.id, { ...unsettled, parentId });
      newest.set(unsettled.branch, unsettled.id);
    }
  }
  return { mended: [...settled.values()], moved };
}

/** An entry and those above it, up to one that is settled, missing, or met before. */
function ancestry(
  entry: SessionEntry,
  entries: ReadonlyMap<EntryId, SessionEntry>,
  settled: ReadonlyMap<EntryId, SessionEntry>,
): readonly SessionEntry[] {
  const chain = new Set<SessionEntry>();
  let next: SessionEntry | undefined = entry;
  while (next && !settled.has(next.id) && !chain.has(next)) {
    chain.add(next);
    next = next.parentId === null ? undefined : entries.get(next.parentId);
  }
  return [...chain];
}

function mayHang({ parentId, branch }: SessionEntry, settled: ReadonlyMap<EntryId, SessionEntry>): boolean {
  if (parentId === null) return true;
  const parent = settled.get(parentId);
  return parent !== undefined && (parent.branch === null || parent.branch === branch);
}
