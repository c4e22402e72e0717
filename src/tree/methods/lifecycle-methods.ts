import { AgentId, Json, toStopReason, type RunId } from "#kernel";
import type { Slot } from "#ledger";
import { finalResult } from "../final-result.ts";
import { launch } from "../launch.ts";
import { book } from "../reports.ts";
import { cancelRuns, end, whyStopped } from "../run-lifecycle.ts";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import { endWait } from "./inbox-methods.ts";
import { type EndReport, cancelKey, type CancelRecord } from "../state/records.ts";
import { addSizes } from "../state/backlogs.ts";
import { sizeOfSent, takeDelivered } from "../state/inbox.ts";
import { findExcess, maxItemBytes } from "../state/size.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { armDeadline } from "../timers.ts";
import { giveUpDue } from "../waiting-calls.ts";

/** Ends a run. Returns the result of its tree, if the tree ends with it. */
export function endRun(work: TreeWork, argument: ArgumentOf<"end">): ReplyOf<"end"> {
  book(work, argument);
  const slot = work.slot(argument.run);
  const result =
    slot && end(work, argument.run, fitReport(work, toEffectiveEnd(argument.end, slot, work.now)));
  return result ? finalResult(work, result) : null;
}

/** Returns the report with a failure instead of an output that is too large to store: the run must end regardless. */
function fitReport(work: TreeWork, report: EndReport): EndReport {
  const { output, error, labels, unread, isSaved, hasActed } = report;
  const excess = findExcess("the output of a run", { output, error }, maxItemBytes(work.object));
  if (!excess) return report;
  return {
    status: "failed",
    stopReason: "error",
    output: null,
    error: excess.toJSON(),
    labels,
    unread,
    isSaved,
    hasActed,
  };
}

/**
 * Returns the effective end of a run. A cancelled run ends as cancelled, with its partial output, regardless of its
 * report.
 */
function toEffectiveEnd(report: EndReport, slot: Slot, now: number): EndReport {
  const reason = report.status === "failed" ? whyStopped(slot, now) : slot.cancelled;
  if (reason === null || report.stopReason === "deadline") return report;
  const { output, labels, unread, isSaved, hasActed } = report;
  const kept = { output, labels, unread, isSaved, hasActed };
  return { status: "cancelled", stopReason: toStopReason(reason), ...kept };
}

/** Continues the run in a fresh execution. Unread messages are carried over. */
export function continueRun(work: TreeWork, argument: ArgumentOf<"continue">): null {
  book(work, argument);
  // What its code waited for may have come with a wake-up, so that the tree still takes it for waiting.
  endWait(work, argument.run);
  const run = work.live(argument.run);
  const told = takeDelivered(work.object, argument.run, run.inbox);
  const items = [...argument.unread, ...told, ...run.inbox.items];
  const sent = addSizes(run.inbox.sent, sizeOfSent(argument.unread));
  const inbox = { ...run.inbox, items, sent, delivered: 0, woken: false };
  const continuation = run.continuation + 1;
  // A replayed run numbers its reports from 1 again: a fresh journal starts a fresh count.
  launch(work, argument.run, { ...run, continuation, inbox, backlog: undefined, reported: 0 }, argument);
  return null;
}

/** Counts a crash. Returns whether the run is restarted. */
export function countCrash(work: TreeWork, argument: ArgumentOf<"crashed">): ReplyOf<"crashed"> {
  const run = work.run(argument.run);
  const slot = work.slot(argument.run);
  if (!run || !slot) return { again: false, cancelled: "ended" };
  const cancelled = whyStopped(slot, work.now);
  if (argument.why === "version") return { again: cancelled === null, cancelled };
  const isNew = argument.epoch !== run.crashedIn;
  const crashes = run.crashes + (isNew ? 1 : 0);
  const { diagnostic } = argument;
  work.put(argument.run, { ...run, crashes, crashedIn: argument.epoch, ...(diagnostic && { diagnostic }) });
  const { maxRestarts = work.tree.maxRestarts } = work.host.agents[AgentId.type(run.agentId)] ?? {};
  return { again: cancelled === null && crashes <= maxRestarts, cancelled };
}

/** Cancels a run and its descendants. */
export function cancelRun(work: TreeWork, { run, reason }: ArgumentOf<"cancel">): number | null {
  return work.slot(run) ? cancelRuns(work, run, reason) : null;
}

/**
 * Ends the runs of a cancel that have not ended by themselves: their execution has diverged, has no worker, was killed
 * at the engine, or hangs. Their open calls are in doubt. Later calls of their execution are refused.
 */
export function cancelOverdue(work: TreeWork, { number }: ArgumentOf<"cancelOverdue">): null {
  const { runs } = Json.as<CancelRecord>(work.object.get(cancelKey(number)) ?? { runs: [] });
  work.load(runs);
  const left = runs.filter((run) => work.run(run)?.cancel === number);
  // Children first, so that a parent's remaining children need not be searched for again.
  for (const run of left.toReversed()) endByTree(work, run);
  return null;
}

function endByTree(work: TreeWork, run: RunId): void {
  const known = work.run(run);
  const reason = work.slot(run)?.cancelled ?? "cancelled";
  if (!known) return;
  end(work, run, { status: "cancelled", stopReason: toStopReason(reason), output: null });
  if (known.execution !== null) work.object.kill(known.execution);
}

/**
 * Cancels every run whose deadline has passed, releases the reservations that are due and needed, and arms the next
 * timer.
 */
export function timerDue(work: TreeWork, { at }: ArgumentOf<"timerDue">): null {
  if (work.tree.timer !== at) return null;
  work.change({ timer: null });
  giveUpDue(work);
  const open = work.allRuns().filter((run) => work.slot(run)?.cancelled === null);
  cancelRuns(
    work,
    open.filter((run) => work.now > (work.slot(run)?.deadline ?? Infinity)),
    "deadline",
  );
  for (const run of work.allRuns()) if (work.slot(run)?.cancelled === null) armDeadline(work, run);
  return null;
}
