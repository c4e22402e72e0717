import type { RunId } from "#kernel";
import type { Draft } from "./draft.ts";
import { allot, holds, isInLine, park, room } from "./headcount.ts";
import { lowest } from "./preemption.ts";
import type { Slot } from "./state.ts";
import { entries } from "./table.ts";

type Slots = Readonly<Record<RunId, Slot>>;

/**
 * Whether nobody who holds a slot will ever give it up: each waits, and only for runs that wait themselves or have no
 * slot. `asking` is a run at work that is about to wait for one in line.
 */
export function isStuck(slots: Slots, asking: RunId | null): boolean {
  return entries(slots).every(([run, slot]) => {
    const isAsking = run === asking && slot.phase === "running";
    return isAsking || !holds(slot) || waitsInVain(slots, slot);
  });
}

/** Nobody it waits for has ended or is about to. Whether they wait in vain themselves, `isStuck` looks at anyway. */
function waitsInVain(slots: Slots, { phase, cancelled, waitsOn }: Slot): boolean {
  if (phase !== "waiting" || cancelled !== null || waitsOn === null) return false;
  return waitsOn.every((run) => slots[run]?.cancelled === null);
}

/**
 * Gets a stuck tree going again. A demoted run is passed over no longer; queued runs are dropped; and where all wait
 * for parked ones, who waits lends its slot.
 */
export function relieve(draft: Draft, at: number): void {
  const { rows } = draft.slots;
  if (!isStuck(rows, null)) return;
  if (room(draft) > 0) return unskip(draft, at);
  const pending = [...entries(rows)].filter(([, slot]) => slot.phase === "pending" && isInLine(slot));
  for (const [run] of pending) drop(draft, run);
  if (pending.length === 0) lendSlot(draft, at);
}

function unskip(draft: Draft, at: number): void {
  for (const [run, slot] of entries(draft.slots.rows)) {
    if (slot.skipped) draft.slots.patch(run, { skipped: false });
  }
  allot(draft, at);
}

/** Marked as cancelled, so that it is not launched before the host has let it go. */
function drop(draft: Draft, run: RunId): void {
  draft.slots.patch(run, { cancelled: "would-deadlock" });
  draft.effects.push({ kind: "drop", run, reason: "would-deadlock" });
}

function lendSlot(draft: Draft, at: number): void {
  const isWanted = entries(draft.slots.rows).some(([, slot]) => isInLine(slot));
  const lender = lowest(draft, holds);
  if (isWanted && lender !== null) park(draft, lender, at);
}
