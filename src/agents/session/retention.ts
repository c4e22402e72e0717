import { type HistoryRetention, RunId } from "#kernel";

/** The facts about a run that retention depends on. */
export interface RetainedRun {
  readonly runId: RunId;
  readonly retention: HistoryRetention;
}

/**
 * Returns the branch of a run's entries. Null: they are not written. Only a root with permanent content writes on the
 * main branch and moves its leaf. A root without permanent content has a separate branch like any child, so that
 * dropping the branch is enough when the tree ends.
 */
export function toBranch({ runId, retention }: RetainedRun): { readonly branch: RunId | null } | null {
  if (retention === "none") return null;
  const isRoot = runId === RunId.root(RunId.tree(runId));
  return { branch: isRoot && retention === "permanent" ? null : runId };
}

/** Returns the branches to drop when a tree ends: all except `permanent` ones. Idempotent. */
export function branchesToDrop(runs: readonly RetainedRun[]): readonly RunId[] {
  return runs.filter(({ retention }) => retention !== "permanent").map(({ runId }) => runId);
}
