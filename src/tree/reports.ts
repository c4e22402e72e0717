import type { RunId } from "#kernel";
import { Ledger, type BookedAmounts, type DecisionResult, type LedgerState } from "#ledger";
import type { FromRun } from "./protocol.ts";
import { agentField } from "./state/ended-runs.ts";
import { noteCall } from "./state/silent-runs.ts";
import { isReported, reportPlace, type Settlement } from "./report.ts";
import { statedTime } from "./state/tick-clock.ts";
import type { TreeWork } from "./state/tree-work.ts";

/**
 * Books the reports of a run. Reports that a replay repeats change nothing. Neither do those of an execution that a
 * continuation has superseded.
 */
export function book(work: TreeWork, from: FromRun): void {
  noteCall(work, from);
  const { run: id, continuation, reports } = from;
  const run = work.run(id);
  const last = reports.at(-1);
  if (!run || !last || continuation !== run.continuation || last.number <= run.reported) return;
  for (const { number, settle, event } of reports) {
    if (number <= run.reported) continue;
    if (settle) bookSettlement(work, id, settle);
    if (event) {
      const { type, at, attempt, payload } = event;
      if (!isReported(type)) throw new TypeError(`a run cannot report ${type}: only the tree writes it`);
      const place = reportPlace(type, continuation, number);
      work.emit(id, type, payload, {
        place,
        at: statedTime(at, { spawnedAt: run.spawnedAt, now: work.now }),
        attempt,
      });
      const isCompaction = type === "compaction.start" || type === "compaction.end";
      if (isCompaction && id === work.root) work.change({ isCompacting: type === "compaction.start" });
    }
  }
  work.put(id, { ...work.live(id), reported: last.number });
}

/** Books the outcome of an attempt, once. */
export function bookSettlement(work: TreeWork, id: RunId, settlement: Settlement): void {
  const { attempt, usage, again } = settlement;
  const settle = (state: LedgerState): DecisionResult<BookedAmounts | null> =>
    Ledger.settle(state, { run: id, attempt, usage, again, at: work.now });
  const isOpen = work.run(id)?.account.attempts.some((open) => open.id === attempt) ?? false;
  // An attempt that was given up as lost, and is journaled after all, is among the doubts.
  const booked = isOpen ? work.decide(id, settle) : work.decideDoubt(attempt, settle);
  if (!booked) return;
  // An attempt in doubt may be settled after its run has ended.
  const options = { place: `settled/${attempt}`, attempt, ...agentField(work, id) };
  work.emit(id, "budget.settled", booked, options);
  const run = work.run(id);
  if (run?.cancel) work.put(id, { ...run, spentAfter: run.spentAfter + booked.costMicros });
}
