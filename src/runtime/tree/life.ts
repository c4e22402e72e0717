import { BudgetExhaustedError, Json, keysOf, type Envelope, type RunId, type RunResult } from "#kernel";
import { Ledger, type LedgerEffect } from "#ledger";
import { returnBlock } from "../tenant-object.ts";
import { closeApprovals } from "./approvals.ts";
import { deadLetter, start, wakeNew } from "./hire.ts";
import { inboxOf } from "./inbox.ts";
import {
  cancelKey,
  closedKey,
  type CancelRecord,
  type EndedRecord,
  type EndReport,
  type InboxItem,
  type RunRecord,
} from "./records.ts";
import { bury, eraseLater } from "./remains.ts";
import type { TreeWork } from "./tree-work.ts";

/** Does what the ledger's decisions ask for, until nothing is left to do. */
export function perform(work: TreeWork): void {
  for (let effects = work.takeEffects(); effects.length > 0; effects = work.takeEffects()) {
    // In order, each before the next: they are consequences of each other.
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
      resumed(work, effect.run);
      return work.push(effect.run, { kind: "resume" });
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
    case "warn": {
      const { dimension, limit, used } = effect;
      work.run(effect.run ?? work.root);
      return work.emit(effect.run ?? work.root, "budget.warning", { dimension, limit, used });
    }
  }
}

function emitPause(work: TreeWork, id: RunId, cause: "preempted" | "held"): void {
  const run = work.run(id);
  const reason = cause === "held" ? run?.pausedFor : null;
  work.emit(id, "run.paused", { cause, ...(reason && { reason }) });
  if (run && reason) work.put(id, { ...run, pausedFor: null });
}

/** A parked run has a slot again. */
export function resumed(work: TreeWork, run: RunId): void {
  work.run(run);
  work.emit(run, "run.resumed", { cause: "slot" });
  tellOthers(work, run, "childResumed");
}

/** Its boss, and whoever else waits for it, may not want to wait through a pause. */
function tellOthers(work: TreeWork, id: RunId, kind: "childPaused" | "childResumed"): void {
  const run = work.run(id);
  const parent = work.slot(id)?.parent;
  for (const listener of new Set([...(parent ? [parent] : []), ...(run?.watchers ?? [])])) {
    work.push(listener, { kind, run: id });
  }
}

/** Marks a run and everything below it, and tells them. Returns the cancel's number; null if nobody was left. */
export function cancel(work: TreeWork, id: RunId, reason: string): number | null {
  const marked = work.decide(id, (state) => Ledger.cancel(state, { run: id, reason, at: work.now }));
  if (marked.length === 0) return work.run(id)?.cancel ?? null;
  const number = work.seq + 1;
  work.load(marked);
  const runs = marked.map((run) => [run, work.live(run)] as const);
  const open = runs.map(([run]) => [run, { endedAt: null, spentAfter: 0 }] as const);
  const record: CancelRecord = { reason, at: work.now, runs: Object.fromEntries(open) };
  work.object.keep(cancelKey(number), Json.of(record));
  for (const [run, known] of runs) {
    work.emit(run, "run.cancelling", { reason });
    work.put(run, { ...known, cancel: number });
  }
  for (const [run, { execution }] of runs) {
    stop(work, run, execution, reason);
  }
  perform(work);
  return number;
}

function stop(work: TreeWork, run: RunId, execution: string | null, reason: string): void {
  if (execution === null) {
    end(work, run, { status: "cancelled", stopReason: stopReasonOf(reason), output: null });
    return;
  }
  work.push(run, { kind: "cancel", reason });
  work.object.cancel(execution);
}

/** The stop reason of a cancelled run. */
export function stopReasonOf(reason: string): "deadline" | "parent-ended" | "cancelled" {
  return reason === "deadline" || reason === "parent-ended" ? reason : "cancelled";
}

/** A run is over: its slot is free, its helpers are cancelled or adopted, whoever waits for it is told. */
export function end(work: TreeWork, id: RunId, report: EndReport): RunResult | null {
  const run = work.run(id);
  const slot = work.slot(id);
  if (!run || !slot) return null;
  const isRoot = id === work.root;
  const children = keysOf(work.slots).filter((child) => work.slot(child)?.parent === id);
  for (const child of children) {
    const isAdopted = work.slot(child)?.detached === true && !isRoot && slot.cancelled === null;
    const parent = isAdopted ? work.root : slot.parent;
    work.decide(child, (state) => Ledger.adopt(state, { run: child, parent }));
    if (!isAdopted) cancel(work, child, "parent-ended");
  }
  closeApprovals(work, id);
  const unread = unreadOf(work, id, report.unread ?? []);
  const summary = work.decide(id, (state) => Ledger.release(state, { run: id, at: work.now }));
  const result: RunResult = {
    treeId: work.tree.treeId,
    runId: id,
    status: report.status,
    stopReason: report.stopReason,
    output: report.output,
    usage: summary.usage,
    spend: summary.settled.cost + summary.inDoubt.cost,
    inDoubt: summary.inDoubt.cost,
    error: report.error,
    labels: report.labels,
  };
  fillReceipt(work, id, run);
  if (report.poison) {
    const fields = {
      messageId: report.poison,
      reason: report.error?.message ?? "failed",
      attempts: run.crashes,
    };
    work.emit(id, "message.dead-lettered", fields);
  }
  emitEnd(work, id, run, result);
  work.drop(id);
  const ended: EndedRecord = {
    agentId: run.agentId,
    parentRunId: run.supervision.parentRunId,
    startedAt: run.startedAt ?? run.hiredAt,
    retention: run.supervision.retention,
    result,
    endedAt: work.now,
  };
  bury(work, id, ended);
  const listeners = new Set([
    ...(run.supervision.parentRunId ? [run.supervision.parentRunId] : []),
    ...run.watchers,
  ]);
  for (const listener of listeners) {
    work.push(listener, { kind: "ended", run: id, result });
  }
  perform(work);
  passOn(work, id, run, unread);
  closeIfOver(work, id);
  return result;
}

function emitEnd(work: TreeWork, id: RunId, run: RunRecord, result: RunResult): void {
  const { status, stopReason, usage, spend, error } = result;
  const durationMs = work.now - (run.startedAt ?? run.hiredAt);
  work.emit(
    id,
    "run.end",
    { status, stopReason, durationMs, usage, spend, ...(error && { error }) },
    { place: "run.end" },
  );
}

/** What the run has not read: what it has taken, then what came while it was ending. */
function unreadOf(work: TreeWork, id: RunId, taken: readonly InboxItem[]): readonly InboxItem[] {
  const run = work.live(id);
  const items = [...taken];
  let inbox = run.inbox;
  while (inbox.items.length > 0) {
    const page = inboxOf(work.object, id, inbox).take();
    items.push(...page.items);
    inbox = page.inbox;
  }
  return items;
}

const wordsOf = (items: readonly InboxItem[], ...kinds: readonly InboxItem["kind"][]): readonly Envelope[] =>
  items.flatMap((item) => ("envelope" in item && kinds.includes(item.kind) ? [item.envelope] : []));

/**
 * Unread messages wake a new run of the same agent, or are dead letters. Words for the work that has just ended are
 * dead letters in any case. What the run was started with was its own, read or not.
 */
function passOn(work: TreeWork, id: RunId, run: RunRecord, items: readonly InboxItem[]): void {
  const { agentId, version, budget, tools, rules, supervision } = run;
  deadLetter(work, { run: id, agent: agentId }, wordsOf(items, "steer", "followUp"), "run-ended");
  const messages = wordsOf(items, "message");
  const unread = run.startedAt === null ? messages : messages.filter((message) => message.id !== run.boot);
  if (unread.length === 0) return;
  const { priority, retention } = supervision;
  const why = whyUnreadable(work, run);
  const woken = why ?? wakeNew(work, agentId, { version, priority, budget, retention, tools, rules }, unread);
  if ("reason" in woken) deadLetter(work, { run: id, agent: agentId }, unread, woken.reason);
  perform(work);
}

function whyUnreadable(
  work: TreeWork,
  { cancel: cancelled, startedAt }: RunRecord,
): { reason: string } | null {
  if (work.slot(work.root) === undefined) return { reason: "tree-ended" };
  if (cancelled !== null) return { reason: "cancelled" };
  return startedAt === null ? { reason: "never-started" } : null;
}

function fillReceipt(work: TreeWork, id: RunId, run: RunRecord): void {
  if (run.cancel === null) return;
  const key = cancelKey(run.cancel);
  const record = Json.as<CancelRecord | null>(work.object.get(key));
  const entry = record?.runs[id];
  if (!record || !entry) return;
  // Calls that nobody has heard of stay booked at their ceilings.
  const lost = run.account.attempts.reduce((sum, { ceiling }) => sum + ceiling.cost, 0);
  const filled = { endedAt: work.now, spentAfter: run.spentAfter + lost };
  work.object.keep(key, Json.of({ ...record, runs: { ...record.runs, [id]: filled } }));
}

function closeIfOver(work: TreeWork, ended: RunId): void {
  const left = keysOf(work.slots);
  if (ended === work.root) {
    for (const run of left) {
      cancel(work, run, "parent-ended");
    }
  }
  if (Object.keys(work.slots).length > 0 || work.tree.status === "closed") return;
  returnBlock(work);
  const { session } = work.tree;
  const tree = { type: "tree", key: work.object.key };
  if (session) work.object.send(session, "release", Json.of({ tree, at: work.now }));
  work.change({ status: "closed" });
  work.object.keep(closedKey, true);
  eraseLater(work);
}
