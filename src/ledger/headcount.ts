import type { RunId } from "#kernel";
import type { Draft } from "./draft.ts";
import { byRank } from "./rank.ts";
import type { Slot } from "./state.ts";
import { entries } from "./table.ts";

/** Whether a run counts against `maxAgents`. */
export function holds({ phase }: Slot): boolean {
  return phase === "running" || phase === "waiting" || phase === "yielding";
}

/** How many runs hold a slot. */
export function headcount({ slots }: { readonly slots: Readonly<Record<RunId, Slot>> }): number {
  let count = 0;
  for (const slot of Object.values(slots)) if (holds(slot)) count += 1;
  return count;
}

/** How many slots nobody holds. */
export function room(draft: Draft): number {
  return draft.tree.spawn.maxAgents - headcount({ slots: draft.slots.rows });
}

/** Whether a run could use a slot now. */
export function isInLine(slot: Slot): boolean {
  const wants = slot.phase === "pending" || (slot.phase === "parked" && !slot.asleep);
  return wants && !slot.held && slot.cancelled === null;
}

/** Free slots go to those in line, best first. */
export function allot(draft: Draft, at: number): void {
  const free = room(draft);
  if (free <= 0) return;
  const line = entries(draft.slots.rows).filter(([, slot]) => isInLine(slot) && !slot.skipped);
  const ranked = line.toSorted(byRank(draft.tree.ageingMs, at));
  for (const [run] of ranked.slice(0, free)) grant(draft, run, at);
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
    draft.slots.patch(run, { phase: "running", waitsOn: null });
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
  if (taker === null) return true;
  grant(draft, taker, at);
  return false;
}

/** Slots have become free: the line gets them. Who was passed over so far is no longer, but for the one that left. */
export function vacate(draft: Draft, leaver: RunId | null, at: number): void {
  for (const [run, slot] of entries(draft.slots.rows)) {
    if (slot.skipped && run !== leaver) draft.slots.patch(run, { skipped: false });
  }
  allot(draft, at);
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
