import { toStopReason, BudgetExhaustedError, Json, type Micros, type RunId, type RunResult } from "#kernel";
import { Ledger, type LedgerEffect, type Slot } from "#ledger";
import { closeApprovals } from "./methods/approvals.ts";
import { goOn } from "./late-asks.ts";
import { start } from "./new-run.ts";
import { passOn } from "./pass-on.ts";
import { inboxOf, prefetchInbox } from "./state/inbox.ts";
import { closeLease, correctLease } from "./tenant/lease.ts";
import {
  asksKey,
  cancelDoneKey,
  cancelKey,
  closedKey,
  lateAsksKey,
  type CancelRecord,
  type EndedRecord,
  type EndReport,
  type InboxItem,
  type RunRecord,
  type StoredItem,
} from "./state/records.ts";
import { recordEnded, eraseLater } from "./state/ended-runs.ts";
import { leaveConversation, noteTurn } from "./settle-turn.ts";
import { armCancel } from "./timers.ts";
import { leaveSilent } from "./state/silent-runs.ts";
import { leaveTopics } from "./state/topics.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** Carries out the effects of the ledger's decisions, until none is left. */
export function performEffects(work: TreeWork): void {
  for (let effects = work.takeEffects(); effects.length > 0; effects = work.takeEffects()) {
    // In order, one after the other, because each may cause the next.
    for (const effect of effects) performOne(work, effect);
  }
}

function performOne(work: TreeWork, effect: LedgerEffect): void {
  switch (effect.kind) {
    case "launch": {
      const run = work.live(effect.run);
      const parent = work.slot(effect.run)?.parent;
      const { agentId: childAgent, supervision } = run;
      if (parent)
        work.emit(parent, "spawn.admitted", {
          child: effect.run,
          childAgent,
          priority: supervision.priority,
        });
      return start(work, effect.run);
    }
    case "resume":
      noteResumed(work, effect.run);
      return work.push(effect.run, { kind: "resume" });
    case "goesOn":
      return goOn(work, effect.run);
    case "needsTopUp":
      return emitNeed(work, effect);
    case "spare":
      if (effect.run === work.root) work.emit(effect.run, "run.resumed", { cause: "released" });
      return work.push(effect.run, { kind: "resume" });
    case "tell": {
      if (effect.run === work.root) emitPause(work, effect.run, effect.cause);
      work.push(effect.run, { kind: "pause" });
      const self = { type: "tree", key: work.object.key };
      const argument = { run: effect.run, at: work.now + work.tree.yieldTimeoutMs };
      return work.object.send(self, "yieldOverdue", argument, { delayMs: work.tree.yieldTimeoutMs });
    }
    case "parked":
      emitPause(work, effect.run, effect.cause);
      return tellOthers(work, effect.run, "childPaused");
    case "drop": {
      const { maxAgents } = work.tree.ledger.spawn;
      const error = new BudgetExhaustedError({
        dimension: "agents",
        limit: maxAgents,
        used: maxAgents,
        reason: effect.reason,
      });
      end(work, effect.run, {
        status: "failed",
        stopReason: "budget.agents",
        output: null,
        error: error.toJSON(),
      });
      return;
    }
    case "correct":
      return correctLease(work, effect);
    case "warn": {
      const { dimension, limit, used } = effect;
      work.run(effect.run ?? work.root);
      return work.emit(effect.run ?? work.root, "budget.warning", { dimension, limit, used });
    }
  }
}

/** Tells that a call which waited for calls in flight waits for a top-up now. */
function emitNeed(
  work: TreeWork,
  { kind: _kind, run, step, ...met }: Extract<LedgerEffect, { readonly kind: "needsTopUp" }>,
): void {
  work.run(run);
  work.emit(run, "budget.waiting", { ...met, inFlight: 0, step });
}

function emitPause(work: TreeWork, id: RunId, cause: "preempted" | "held"): void {
  const run = work.run(id);
  const reason = cause === "held" ? run?.pausedFor : null;
  work.emit(id, "run.paused", { cause, ...(reason && { reason }) });
  if (run && reason) work.put(id, { ...run, pausedFor: null });
}

/** Resumes a parked run that has a slot again. */
export function noteResumed(work: TreeWork, run: RunId): void {
  work.run(run);
  work.emit(run, "run.resumed", { cause: "slot" });
  tellOthers(work, run, "childResumed");
}

/** Notifies the parent and other waiting runs, which may stop waiting during a pause. */
function tellOthers(work: TreeWork, id: RunId, kind: "childPaused" | "childResumed"): void {
  const run = work.run(id);
  const parent = work.slot(id)?.parent;
  for (const listener of new Set([...(parent ? [parent] : []), ...(run?.watchers ?? [])])) {
    work.push(listener, { kind, run: id, ...(kind === "childPaused" && run?.said && { said: run.said }) });
  }
}

/**
 * Cancels runs and their descendants in one decision, and notifies them. Returns the number of the cancel. Null if no
 * run was left.
 */
export function cancelRuns(work: TreeWork, runs: RunId | readonly RunId[], reason: string): number | null {
  const [id, ...also] = typeof runs === "string" ? [runs] : runs;
  if (id === undefined) return null;
  work.loadBelow([id, ...also]);
  const marked = work.decide(id, (state) => Ledger.cancel(state, { run: id, also, reason, at: work.now }));
  if (marked.length === 0) return work.run(id)?.cancel ?? null;
  const number = work.seq + 1;
  work.load(marked);
  const reached = marked.map((run) => [run, work.live(run)] as const);
  const record: CancelRecord = { reason, at: work.now, runs: marked };
  work.object.set(cancelKey(number), Json.of(record));
  work.change({ cancelling: { ...work.tree.cancelling, [number]: marked.length } });
  for (const [run, known] of reached) {
    work.emit(run, "run.cancelling", { reason });
    work.put(run, { ...known, cancel: number });
  }
  for (const [run, { execution }] of reached) {
    stop(work, run, { execution, reason });
  }
  if (marked.some((run) => work.slot(run))) armCancel(work, number);
  performEffects(work);
  return number;
}

function stop(
  work: TreeWork,
  run: RunId,
  { execution, reason }: { readonly execution: string | null; readonly reason: string },
): void {
  if (execution === null) {
    end(work, run, { status: "cancelled", stopReason: toStopReason(reason), output: null });
    return;
  }
  work.push(run, { kind: "cancel", reason });
  work.object.cancel(execution);
}

/** Returns the reason why a run may do nothing more. Null: it may. */
export function whyStopped({ cancelled, deadline }: Slot, now: number): string | null {
  return cancelled ?? (deadline !== null && now > deadline ? "deadline" : null);
}

/** Ends a run: frees its slot, cancels or moves its children, and notifies every run that waits for it. */
export function end(work: TreeWork, id: RunId, ending: EndReport): RunResult | null {
  const run = work.run(id);
  const slot = work.slot(id);
  if (!run || !slot) return null;
  prefetchInbox(work.object, id, run.inbox);
  leaveChildren(work, id, slot);
  closeApprovals(work, id);
  const report = reportWait(work, id, run, ending);
  const unread = unreadOf(work, id, report.unread ?? []);
  leaveTopics(work.object, id, unread);
  leaveSilent(work, id);
  const summary = work.decide(id, (state) => Ledger.release(state, { run: id, at: work.now }));
  const result: RunResult = {
    treeId: work.tree.treeId,
    runId: id,
    status: report.status,
    stopReason: report.stopReason,
    output: report.output,
    usage: summary.usage,
    costMicros: summary.settled.costMicros + summary.inDoubt.costMicros,
    inDoubtMicros: summary.inDoubt.costMicros,
    error: report.error,
    labels: report.labels,
  };
  emitPoison(work, id, run, report);
  emitEnd(work, run, result);
  noteTurn(work, run, report);
  work.drop(id);
  work.object.clear(asksKey(id));
  if (slot.hasLateAsks) work.object.clear(lateAsksKey(id));
  const ended: EndedRecord = {
    agentId: run.agentId,
    parentRunId: run.supervision.parentRunId,
    startedAt: run.startedAt ?? run.spawnedAt,
    retention: run.supervision.retention,
    result,
    endedAt: work.now,
    ...(run.account.maxCostMicros !== null && { maxCostMicros: run.account.maxCostMicros }),
    cancel: run.cancel,
    spentAfter: run.cancel === null ? 0 : spentAfter(run),
  };
  recordEnded(work, id, ended);
  countCancelled(work, run);
  const listeners = new Set([
    ...(run.supervision.parentRunId ? [run.supervision.parentRunId] : []),
    ...run.watchers,
  ]);
  for (const listener of listeners) {
    work.push(listener, { kind: "ended", run: id, result });
  }
  performEffects(work);
  if (passOn(work, { id, run }, unread)) performEffects(work);
  closeIfOver(work, id);
  return result;
}

/** Adds the waiting call to the report of a run whose deadline passed while a call waited for money. */
function reportWait(work: TreeWork, id: RunId, { account }: RunRecord, report: EndReport): EndReport {
  const [call] = account.waiting;
  if (!call || report.stopReason !== "deadline") return report;
  const denied = { ...call.met, reason: "wait-timed-out" } as const;
  work.emit(id, "budget.denied", denied, { place: `denied/${call.step}` });
  return { ...report, error: new BudgetExhaustedError(denied).toJSON() };
}

/** Moves the detached children of an ended run to the root, and cancels the others in one decision. */
function leaveChildren(work: TreeWork, id: RunId, slot: Slot): void {
  const children = work.loadBelow([id]).filter((run) => work.slot(run)?.parent === id);
  const isAdopted = (child: RunId): boolean =>
    work.slot(child)?.detached === true && id !== work.root && slot.cancelled === null;
  for (const child of children.filter(isAdopted)) {
    work.decide(child, (state) => Ledger.adopt(state, { run: child, parent: work.root, at: work.now }));
  }
  cancelRuns(
    work,
    children.filter((child) => !isAdopted(child)),
    "parent-ended",
  );
}

/** Tells of a message that no execution of the run has survived. */
function emitPoison(work: TreeWork, id: RunId, { crashes }: RunRecord, { poison, error }: EndReport): void {
  if (!poison) return;
  const fields = { messageId: poison, reason: error?.message ?? "failed", attempts: crashes };
  work.emit(id, "message.dead-lettered", fields);
}

function emitEnd(work: TreeWork, run: RunRecord, result: RunResult): void {
  const { runId: id, status, stopReason, usage, costMicros, error } = result;
  const durationMs = work.now - (run.startedAt ?? run.spawnedAt);
  const told = { status, stopReason, durationMs, usage, costMicros };
  work.emit(
    id,
    "run.end",
    { ...told, ...(error && { error, diagnostic: run.diagnostic }) },
    { place: "run.end" },
  );
}

/** Returns the unread items of a run: those it has taken, then those that came while it was ending. */
function unreadOf(work: TreeWork, id: RunId, taken: readonly InboxItem[]): readonly StoredItem[] {
  const run = work.live(id);
  const items: StoredItem[] = [...taken];
  let inbox = run.inbox;
  while (inbox.items.length > 0 || inbox.delivered > 0) {
    const page = inboxOf(work.object, id, inbox).take();
    items.push(...page.items);
    inbox = page.inbox;
  }
  return items;
}

/** Counts the end of a cancelled run. The last one completes the receipt of its cancel. */
function countCancelled(work: TreeWork, { cancel: number }: RunRecord): void {
  if (number === null) return;
  const { [number]: left = 0, ...others } = work.tree.cancelling;
  const isDone = left <= 1;
  work.change({ cancelling: isDone ? others : { ...others, [number]: left - 1 } });
  if (isDone) work.object.set(cancelDoneKey(number), true);
}

/** Returns the cost of a run's own calls since it was cancelled. Calls without an outcome count at their ceilings. */
function spentAfter(run: RunRecord): Micros {
  return run.account.attempts.reduce((sum, { ceiling }) => sum + ceiling.costMicros, run.spentAfter);
}

function closeIfOver(work: TreeWork, ended: RunId): void {
  const isOver = (): boolean => work.tree.ledger.headcount.live === 0;
  if (ended === work.root && !isOver()) cancelRuns(work, work.allRuns(), "parent-ended");
  if (!isOver() || work.tree.status === "closed") return;
  closeLease(work);
  leaveConversation(work);
  work.change({ status: "closed" });
  work.object.set(closedKey, true);
  eraseLater(work);
}
