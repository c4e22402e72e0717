import { type Micros, RunId, type RunRecord as ListedRun, type RunStatus } from "#kernel";
import type { Account, Slot } from "#ledger";
import type { EndedRecord, RunRecord, TreeRecord } from "./records.ts";

/** The records of one run. A live run has a slot. */
export type RunRecords = { readonly ended: EndedRecord } | { readonly live: RunRecord; readonly slot: Slot };

/** Returns the status of a run by its slot. */
export function statusOf({ phase, held }: Slot): RunStatus {
  if (held || phase === "parked") return "paused";
  return phase === "yielding" ? "running" : phase;
}

/** Returns a run in the form of lists. */
export function listRun(tree: TreeRecord, run: RunId, records: RunRecords): ListedRun {
  const { treeId, seq, scope } = tree;
  const isRoot = run === RunId.root(treeId);
  const { headcount, account: shared } = tree.ledger;
  const of = {
    treeId,
    runId: run,
    userId: scope.userId,
    sessionId: scope.sessionId,
    seq,
    name: isRoot ? (tree.name ?? null) : null,
    agents: isRoot ? tree.nextRun : null,
    liveAgents: isRoot ? headcount.live : null,
  };
  const limitOf = (own: Micros | null): Micros | null => {
    const least = Math.min(own ?? Infinity, (isRoot ? shared.maxCostMicros : null) ?? Infinity);
    return least === Infinity ? null : least;
  };
  if ("ended" in records) {
    const { agentId, parentRunId, startedAt, endedAt, result, maxCostMicros = null } = records.ended;
    const { status, stopReason, costMicros, inDoubtMicros } = result;
    // Descendants may end, and book their calls in flight, after a cancelled root.
    const money =
      parentRunId === null ? moneyOf(tree.ledger.account) : { costMicros, inDoubtMicros, reservedMicros: 0 };
    const end = { endedAt, status, stopReason };
    return {
      ...of,
      agentId,
      parentRunId,
      startedAt,
      ...end,
      ...money,
      maxCostMicros: limitOf(maxCostMicros),
    };
  }
  const { agentId, supervision, spawnedAt, startedAt, account } = records.live;
  return {
    ...of,
    agentId,
    parentRunId: supervision.parentRunId,
    startedAt: startedAt ?? spawnedAt,
    endedAt: null,
    status: tree.waits ? "pending" : statusOf(records.slot),
    stopReason: null,
    ...moneyOf(account),
    maxCostMicros: limitOf(account.maxCostMicros),
  };
}

type Money = Pick<ListedRun, "costMicros" | "inDoubtMicros" | "reservedMicros">;

const moneyOf = ({ settled, inDoubt, reserved }: Account): Money => ({
  costMicros: settled.costMicros + inDoubt.costMicros,
  inDoubtMicros: inDoubt.costMicros,
  reservedMicros: reserved.costMicros,
});
