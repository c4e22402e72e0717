import type { RunId } from "#kernel";
import type { Draft } from "./draft.ts";
import { allot, holds, isInLine, park, room, vacate } from "./headcount.ts";
import { lowest } from "./preemption.ts";
import type { Slot } from "./state.ts";
import { entries } from "./table.ts";

type Slots = Readonly<Record<RunId, Slot>>;

/**
 * Whether nobody will ever give up a slot: who holds one waits, and all who wait do so only for runs that wait
 * themselves or stand in line. `asking` is a run at work that is about to wait for one in line.
 */
export function isStuck(slots: Slots, asking: RunId | null): boolean {
  return entries(slots).every(([run, slot]) => {
    const isAsking = run === asking && slot.phase === "running";
    const isIdle = !holds(slot) && !slot.asleep;
    return isAsking || isIdle || waitsInVain(slots, slot);
  });
}

/** Nobody it waits for has ended, is about to, or is held: then a person decides how it goes on. */
function waitsInVain(slots: Slots, { phase, asleep, cancelled, waitsOn }: Slot): boolean {
  if (!(phase === "waiting" || asleep) || cancelled !== null || waitsOn === null) return false;
  return waitsOn.every((run) => {
    const other = slots[run];
    return other?.cancelled === null && !other.held;
  });
}

/**
 * Gets a stuck tree going again. A demoted run is passed over no longer. Where somebody parked could go on, one who
 * waits lends its slot. Where there are only queued runs, they are dropped: their admission was a mistake.
 */
export function relieve(draft: Draft, at: number): void {
  if (!isStuck(draft.slots.rows, null)) return;
  if (room(draft) > 0) return unskip(draft, at);
  const line = entries(draft.slots.rows).filter(([, slot]) => isInLine(slot));
  if (line.some(([, { phase }]) => phase === "parked")) return lendSlot(draft, at);
  for (const [run] of line) drop(draft, run);
}

function unskip(draft: Draft, at: number): void {
  for (const [run, slot] of entries(draft.slots.rows)) {
    if (slot.skipped) draft.slots.patch(run, { skipped: false });
  }
  allot(draft, at);
}

function lendSlot(draft: Draft, at: number): void {
  const lender = lowest(draft, holds);
  if (lender !== null && park(draft, lender, at)) vacate(draft, lender, at);
}

/** Marked as cancelled, so that it is not launched before the host has let it go. */
function drop(draft: Draft, run: RunId): void {
  draft.slots.patch(run, { cancelled: "would-deadlock" });
  draft.effects.push({ kind: "drop", run, reason: "would-deadlock" });
}
