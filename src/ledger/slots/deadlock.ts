import type { RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { holds, isInLine, waitsForRuns } from "./count.ts";
import { allot, park, room, unskip, vacate } from "./headcount.ts";
import { lowest } from "./preemption.ts";

/**
 * Whether nobody will ever give up a slot: who holds one waits, and all who wait do so only for runs that wait
 * themselves or stand in line. `asking` is a run at work that is about to wait for one in line.
 */
export function isStuck(draft: Draft, asking: RunId | null): boolean {
  const isAsking = asking !== null && draft.slots.get(asking)?.phase === "running";
  if (draft.tree.headcount.active > (isAsking ? 1 : 0)) return false;
  const waiting = draft.allSlots().filter(([, slot]) => waitsForRuns(slot));
  draft.prefetch({ waits: waiting.map(([run]) => run) });
  return waiting.every(([run]) => waitsInVain(draft, run));
}

/** Nobody it waits for has ended, is about to, or is held: then a person decides how it goes on. */
function waitsInVain(draft: Draft, waiting: RunId): boolean {
  return (draft.waits.get(waiting) ?? []).every((run) => {
    const other = draft.slots.get(run);
    return other?.cancelled === null && !other.held;
  });
}

/**
 * Gets a stuck tree going again. A demoted run is passed over no longer. Where somebody parked could go on, one who
 * waits lends its slot. Where there are only queued runs, they are dropped: their admission was a mistake.
 */
export function relieve(draft: Draft, at: number): void {
  const { skipped, line: queued } = draft.tree.headcount;
  if (skipped.length === 0 && Object.keys(queued).length === 0) return;
  if (!isStuck(draft, null)) return;
  if (room(draft) > 0) {
    unskip(draft, null);
    return allot(draft, at);
  }
  const inLine = draft.allSlots().filter(([, slot]) => isInLine(slot));
  const line = inLine.toSorted(([, a], [, b]) => a.order - b.order);
  if (line.some(([, { phase }]) => phase === "parked")) return lendSlot(draft, at);
  for (const [run] of line) drop(draft, run);
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
