import type { EntryId, RunId, SessionEntry } from "#kernel";

/**
 * Repairs entries with missing or cyclic parents: parents come before their children, and each path ends at a root. An
 * entry with an invalid parent (missing, one of its own descendants, or on another child's branch, which may be
 * dropped) is moved below its predecessor on its branch. In a conversation with a missing line, that is its right
 * position.
 */
export function repairEntries(entries: ReadonlyMap<EntryId, SessionEntry>): {
  readonly repaired: readonly SessionEntry[];
  /** Number of entries that were moved. */
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
  return { repaired: [...settled.values()], moved };
}

/** Returns an entry and its ancestors, up to one that is settled, missing, or already visited. */
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
