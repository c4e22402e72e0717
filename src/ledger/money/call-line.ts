import { type RunId, StepId } from "#kernel";
import type { WaitingCall } from "./account.ts";
import type { Begin } from "../command.ts";
import type { Draft } from "../draft.ts";
import { isLate } from "../slots/headcount.ts";
import { enterLine, inOrder, leaveLine } from "../slots/line.ts";
import { path } from "../slots/ancestry.ts";
import { byRank } from "../slots/queue-order.ts";
import type { QueuedCall, Slot } from "../state.ts";

/*
 * The queue of model calls that wait for money: by priority, then by age. A call is in the queue and in the account of
 * its run, under its step.
 *
 * 1. A call with precedence that waits at a limit on the path of another is decided first.
 * 2. A call whose run is paused, cancelled or late, or that needs a top-up, keeps its position and blocks no other
 *    call.
 */

/** Whether any call is waiting. */
function isAnyWaiting({ tree }: Draft): boolean {
  return Object.keys(tree.calls.line).length > 0;
}

/** Adds a call to the queue. A call that already waits keeps its position. */
export function enterCallLine(draft: Draft, run: RunId, call: Omit<WaitingCall, "priority" | "page">): void {
  const { step, met, needsTopUp, since } = call;
  leaveCallLine(draft, run, step);
  const { priority, order, deadline } = draft.slots.need(run);
  const queued = { run, since, order, deadline, call: { step, owner: met.owner, needsTopUp } };
  const page = enterLine(draft, { line: "calls", priority }, queued);
  const { waiting } = draft.accounts.need(run);
  draft.accounts.patch(run, { waiting: [...waiting, { ...call, priority, page }] });
}

/** Removes a call from the queue and returns it. Undefined if it did not wait. */
export function leaveCallLine(draft: Draft, run: RunId, step: StepId): WaitingCall | undefined {
  const { waiting } = draft.accounts.need(run);
  const left = waiting.find((call) => call.step === step);
  if (!left) return undefined;
  leaveLine(draft, { line: "calls", place: left }, (entry) => entry.run === run && entry.call?.step === step);
  draft.accounts.patch(run, { waiting: waiting.filter((call) => call !== left) });
  return left;
}

/** Gives the waiting calls of a run its present priority. */
export function moveInCallLine(draft: Draft, run: RunId): void {
  for (const { priority: _priority, page: _page, ...call } of draft.accounts.get(run)?.waiting ?? [])
    enterCallLine(draft, run, call);
}

/** Returns the waiting call that this one must not overtake. Null if there is none. */
export function findAhead(
  draft: Draft,
  { run, step, waitsSince, at }: Pick<Begin, "run" | "step" | "waitsSince" | "at">,
): QueuedCall | null {
  if (!isAnyWaiting(draft)) return null;
  const above = path(draft.slots, run);
  const { priority, order } = draft.slots.need(run);
  const compare = byRank(draft.tree.ageingMs, at);
  const own = { priority, order, since: waitsSince ?? at };
  for (const entry of inOrder(draft, "calls", at)) {
    if (compare(entry, own) >= 0) return null;
    const { call } = entry;
    const isOwn = entry.run === run && call && StepId.outer(call.step) === StepId.outer(step);
    if (!call || call.needsTopUp || isOwn) continue;
    const isAbove = call.owner === null || above.includes(call.owner);
    if (isAbove && mayBegin(draft.slots.get(entry.run), at)) return call;
  }
  return null;
}

/** Whether the run of a waiting call could begin it now. */
export function mayBegin(slot: Slot | undefined, at: number): boolean {
  return isOpen(slot, at) && (slot.phase === "running" || slot.phase === "waiting");
}

/** Whether the run of a waiting call lost its slot while it waited. It requests one when it is woken. */
export function mayWake(slot: Slot | undefined, at: number): boolean {
  return isOpen(slot, at) && slot.phase === "parked" && slot.asleep;
}

function isOpen(slot: Slot | undefined, at: number): slot is Slot {
  return slot !== undefined && !slot.held && slot.cancelled === null && !isLate(slot, at);
}
