import type { RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { firstInLine } from "./line.ts";
import type { Slot } from "../state.ts";

/** How many slots nobody holds. */
export function room({ tree }: Draft): number {
  return tree.spawn.maxAgents - tree.headcount.holders;
}

/** Whether a run's deadline is over: it gets no slot any more. */
export function isLate({ deadline }: Pick<Slot, "deadline">, at: number): boolean {
  return deadline !== null && at > deadline;
}

/** Free slots go to those in line, best first. */
export function allot(draft: Draft, at: number): void {
  const free = room(draft);
  if (free <= 0) return;
  const next = firstInLine(draft, free, at);
  draft.prefetch({ slots: next });
  for (const run of next) grant(draft, run, at);
}

/** Gives a run in line a slot. Its victim, if there is one that has not yielded yet, need not any more. */
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
    draft.slots.patch(run, { phase: "running", waitsForRuns: false });
    draft.effects.push({ kind: "resume", run });
  }
}

/** Takes a run's slot away: it has yielded, or it waits and so has nothing to finish. Says whether the slot is free. */
export function park(draft: Draft, run: RunId, at: number): boolean {
  const slot = draft.slots.need(run);
  const asleep = slot.phase === "waiting";
  draft.slots.patch(run, { phase: "parked", asleep, taker: null, since: at });
  draft.effects.push({ kind: "parked", run, cause: slot.held ? "held" : "preempted" });
  return handOver(draft, slot.taker, at);
}

/** A slot that was promised goes to the run it was promised to. Says whether it is free instead. */
export function handOver(draft: Draft, taker: RunId | null, at: number): boolean {
  if (taker === null || isLate(draft.slots.need(taker), at)) return true;
  grant(draft, taker, at);
  return false;
}

/** Slots have become free: the line gets them. Who was passed over so far is no longer, but for the one that left. */
export function vacate(draft: Draft, leaver: RunId | null, at: number): void {
  unskip(draft, leaver);
  allot(draft, at);
}

/** Passes no run over any longer, but for one. */
export function unskip(draft: Draft, except: RunId | null): void {
  for (const run of draft.tree.headcount.skipped)
    if (run !== except) draft.slots.patch(run, { skipped: false });
}

/** A run that preempts needs its victim's slot no more. */
export function withdraw(draft: Draft, taker: RunId): void {
  const { victim } = draft.slots.need(taker);
  if (victim === null) return;
  draft.slots.patch(taker, { victim: null });
  if (draft.slots.get(victim)?.taker !== taker) return;
  draft.slots.patch(victim, { taker: null });
  spare(draft, victim);
}

/** Lets a run that was told to yield go on, if nothing else wants it to yield. */
export function spare(draft: Draft, run: RunId): void {
  const { phase, held, taker, skipped } = draft.slots.need(run);
  if (phase !== "yielding" || held || taker !== null || skipped) return;
  draft.slots.patch(run, { phase: "running" });
  draft.effects.push({ kind: "spare", run });
}
