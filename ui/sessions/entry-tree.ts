import type { EntryRecord } from "../api/records.ts";

/** Entries that leave the main path at one of its entries: a sequence, and its own branches. */
export interface Branch {
  readonly entries: readonly EntryRecord[];
  readonly branches: readonly Branch[];
}

/** An entry of the main path. */
interface PathRow {
  readonly entry: EntryRecord;
  /** The branches that begin after it. */
  readonly branches: readonly Branch[];
  /** Whether a later compaction replaces it, so it is no longer sent to the model. */
  readonly isReplaced: boolean;
}

/** A conversation as the page shows it. */
export interface EntryTree {
  readonly rows: readonly PathRow[];
  /** Branches that begin before the first entry of the main path. */
  readonly loose: readonly Branch[];
  /** Entries of the main path that each compaction replaced, by the compaction. */
  readonly replaced: ReadonlyMap<string, number>;
}

/** Puts the path to the leaf in the middle, and everything else beside the entry that it follows. */
export function toEntryTree(items: readonly EntryRecord[], leaf: string | null): EntryTree {
  const byId = new Map(items.map((entry) => [entry.id, entry]));
  const path: EntryRecord[] = [];
  const onPath = new Set<string>();
  for (let at = leaf === null ? undefined : byId.get(leaf); at && !onPath.has(at.id);) {
    path.unshift(at);
    onPath.add(at.id);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  const children = Map.groupBy(
    items.filter(({ id }) => !onPath.has(id)),
    ({ parentId }) => (parentId !== null && byId.has(parentId) ? parentId : null),
  );
  const branchesAfter = (id: string | null): readonly Branch[] =>
    (children.get(id) ?? []).map((first) => branchFrom(first, children));
  const { replaced, lastKept } = findReplaced(path);
  return {
    rows: path.map((entry, index) => ({
      entry,
      branches: branchesAfter(entry.id),
      isReplaced: index < lastKept && entry.type !== "compaction",
    })),
    loose: branchesAfter(null),
    replaced,
  };
}

/** Follows a branch to its end. At a fork, the first child continues it. */
function branchFrom(
  first: EntryRecord,
  children: ReadonlyMap<string | null, readonly EntryRecord[]>,
): Branch {
  const entries = [first];
  const branches: Branch[] = [];
  const seen = new Set([first.id]);
  for (let at = first; ;) {
    const [next, ...others] = (children.get(at.id) ?? []).filter(({ id }) => !seen.has(id));
    if (!next) break;
    branches.push(...others.map((other) => branchFrom(other, children)));
    entries.push(next);
    seen.add(next.id);
    at = next;
  }
  return { entries, branches };
}

/** Counts what each compaction replaced, and finds the first entry that is still sent. */
function findReplaced(path: readonly EntryRecord[]): {
  readonly replaced: ReadonlyMap<string, number>;
  readonly lastKept: number;
} {
  const replaced = new Map<string, number>();
  let lastKept = 0;
  for (const [index, entry] of path.entries()) {
    if (entry.type !== "compaction") continue;
    const kept = path.findIndex(({ id }) => id === entry.keptFrom);
    // An entry that is not on the path: everything before the compaction is replaced.
    const end = kept === -1 ? index : Math.min(kept, index);
    replaced.set(entry.id, path.slice(lastKept, end).filter(({ type }) => type !== "compaction").length);
    lastKept = Math.max(lastKept, end);
  }
  return { replaced, lastKept };
}
