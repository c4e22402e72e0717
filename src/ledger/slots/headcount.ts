import type { RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { firstInLine } from "./line.ts";
import type { Slot } from "../state.ts";

/** The fields of a run that works after it has waited. */
export const atWork = { phase: "running", waitsForRuns: false, isBlocked: false } as const;

/** Returns the number of free slots. */
export function room({ tree }: Draft): number {
  return tree.spawn.maxAgents - tree.headcount.holders;
}

/** Whether a run's deadline has passed. It then gets no slot. */
export function isLate({ deadline }: Pick<Slot, "deadline">, at: number): boolean {
  return deadline !== null && at > deadline;
}

/** Gives free slots to queued runs, best first. */
export function allot(draft: Draft, at: number): void {
  const free = room(draft);
  if (free <= 0 || Object.keys(draft.tree.headcount.line).length === 0) return;
  const next = firstInLine(draft, free, at);
  draft.prefetch({ slots: next });
  for (const run of next) grant(draft, run, at);
}

/** Gives a queued run a slot. If its victim has not yielded yet, the victim may continue. */
function grant(draft: Draft, run: RunId, at: number): void {
  const slot = draft.slots.need(run);
  withdraw(draft, run);
  if (slot.phase === "pending") {
    const own = slot.allowedMs === null ? Infinity : at + slot.allowedMs;
    const deadline = Math.min(own, slot.deadline ?? Infinity);
    draft.slots.patch(run, {
      phase: "running",
      allowedMs: null,
      deadline: deadline === Infinity ? null : deadline,
    });
    draft.effects.push({ kind: "launch", run });
  } else {
    draft.slots.patch(run, atWork);
    draft.effects.push({ kind: "resume", run });
  }
}

/**
 * Takes a run's slot away: it has yielded, or it waits and so has nothing to finish. Returns whether the slot is free.
 */
export function park(draft: Draft, run: RunId, at: number): boolean {
  const slot = draft.slots.need(run);
  const asleep = slot.phase === "waiting";
  draft.slots.patch(run, { phase: "parked", asleep, taker: null, since: at });
  draft.effects.push({ kind: "parked", run, cause: slot.held ? "held" : "preempted" });
  return handOver(draft, slot.taker, at);
}

/** Gives a promised slot to its taker. Returns whether it is free instead. */
export function handOver(draft: Draft, taker: RunId | null, at: number): boolean {
  if (taker === null || isLate(draft.slots.need(taker), at)) return true;
  grant(draft, taker, at);
  return false;
}

/** Gives freed slots to the queue. Skipped runs are no longer skipped, except the one that left. */
export function freeSlot(draft: Draft, leaver: RunId | null, at: number): void {
  unskip(draft, leaver);
  allot(draft, at);
}

/** Stops skipping runs, except one. */
export function unskip(draft: Draft, except: RunId | null): void {
  for (const run of draft.tree.headcount.skipped)
    if (run !== except) draft.slots.patch(run, { skipped: false });
}

/** Cancels a preemption, because the taker no longer needs its victim's slot. */
export function withdraw(draft: Draft, taker: RunId): void {
  const { victim } = draft.slots.need(taker);
  if (victim === null) return;
  draft.slots.patch(taker, { victim: null });
  if (draft.slots.get(victim)?.taker !== taker) return;
  draft.slots.patch(victim, { taker: null });
  cancelYield(draft, victim);
}

/** Lets a yielding run continue, if nothing else requires it to yield. */
export function cancelYield(draft: Draft, run: RunId): void {
  const { phase, held, taker, skipped } = draft.slots.need(run);
  if (phase !== "yielding" || held || taker !== null || skipped) return;
  draft.slots.patch(run, { phase: "running" });
  draft.effects.push({ kind: "spare", run });
}
