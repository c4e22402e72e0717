import { type HistoryRetention, RunId } from "#kernel";

/** What retention looks at. */
export interface RetainedRun {
  readonly runId: RunId;
  readonly retention: HistoryRetention;
}

/**
 * Where a run's entries go; null: nowhere. Only a root whose words stay writes on the main branch and moves its leaf.
 * A root that keeps nothing for good has a branch of its own like any helper, so that dropping the branch is all there
 * is to do when the tree ends.
 */
export function placeOf({ runId, retention }: RetainedRun): { readonly branch: RunId | null } | null {
  if (retention === "none") return null;
  const isRoot = runId === RunId.root(RunId.tree(runId));
  return { branch: isRoot && retention === "permanent" ? null : runId };
}

/** The branches to drop when a tree ends, however it ends: everything but `permanent`. Dropping twice is no harm. */
export function branchesToDrop(runs: readonly RetainedRun[]): readonly RunId[] {
  return runs.filter(({ retention }) => retention !== "permanent").map(({ runId }) => runId);
}
