import type { ApprovalRecord, RunRecord } from "#kernel";
import type { Runtime } from "#runtime";
import { type Principal, whose } from "./auth.ts";

const maxPending = 1_000;

/** A run in a list. */
export interface ListedRun extends RunRecord {
  /** Calls of its tree that wait for approval, among the newest 1,000. 0 unless it is a live root. */
  readonly asks: number;
}

/** Returns the newest 1,000 calls that wait for approval and that the caller may see. */
export async function listPending(
  runtime: Runtime,
  principal: Principal,
): Promise<readonly ApprovalRecord[]> {
  const wanted = { ...whose(principal), user: principal.user, state: "pending" } as const;
  return (await runtime.approvals.list(wanted, { size: maxPending })).items;
}

/** Adds to each live root the number of pending calls of its tree. */
export function addAsks(
  runs: readonly RunRecord[],
  pending: readonly ApprovalRecord[],
): readonly ListedRun[] {
  const counts = Map.groupBy(pending, ({ treeId }) => treeId);
  return runs.map((run) => {
    const isRoot = run.parentRunId === null && run.endedAt === null;
    return { ...run, asks: isRoot ? (counts.get(run.treeId)?.length ?? 0) : 0 };
  });
}
