import type { RunId } from "#kernel";
import { Ledger } from "#ledger";
import { takeBatch } from "../launch.ts";
import { book } from "../reports.ts";
import { closeIdleLease } from "../tenant/lease.ts";
import { performEffects, noteResumed } from "../run-lifecycle.ts";
import type { ArgumentOf, WaitArgument, FromRun, InboxBatch } from "../protocol.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { decideWaiting } from "../waiting-calls.ts";

/** Marks a run as waiting, unless its inbox has items. */
export function waitForItems(work: TreeWork, argument: ArgumentOf<"wait">): InboxBatch {
  book(work, argument);
  keepWords(work, argument);
  decideWaiting(work);
  const batch = takeBatch(work, argument.run);
  if (batch.items.length === 0 && batch.slotState === "running") {
    const { asking, account } = work.live(argument.run);
    const isBlocked = asking.length > 0 || account.waiting.length > 0;
    work.decide(argument.run, (state) =>
      Ledger.wait(state, { run: argument.run, on: argument.on, isBlocked, at: work.now }),
    );
    performEffects(work);
    closeIdleLease(work);
  }
  return batch;
}

/** Takes a run's inbox and resumes the run, if it still has its slot. */
export function takeItems(work: TreeWork, argument: FromRun): InboxBatch {
  book(work, argument);
  endWait(work, argument.run);
  return takeBatch(work, argument.run);
}

/** Notes that a run no longer waits. If it has lost its slot meanwhile, it queues for one, unless it is held. */
export function endWait(work: TreeWork, run: RunId): void {
  const wasParked = work.slot(run)?.phase === "parked";
  const { phase } = work.decide(run, (state) => Ledger.wake(state, { run, at: work.now }));
  if (wasParked && phase === "running") noteResumed(work, run);
  performEffects(work);
}

/** Yields the slot of a run that was asked to and has nothing in flight any more. */
export function yieldSlot(work: TreeWork, argument: WaitArgument): InboxBatch {
  book(work, argument);
  keepWords(work, argument);
  work.decide(argument.run, (state) => Ledger.yield(state, { run: argument.run, at: work.now }));
  performEffects(work);
  closeIdleLease(work);
  return takeBatch(work, argument.run);
}

/** Stores the last text of a run's model, for runs that do not wait through its pause. */
function keepWords(work: TreeWork, { run, said }: WaitArgument): void {
  if (said) work.put(run, { ...work.live(run), said });
}

/** Aborts the call of a run that did not yield in time. */
export function yieldOverdue(work: TreeWork, { run }: ArgumentOf<"yieldOverdue">): null {
  if (work.slot(run)?.phase === "yielding") work.push(run, { kind: "abortCall" });
  return null;
}
