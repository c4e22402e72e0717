import type { RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { hasLine, holdsSlot, isInLine, waitsForRuns } from "./count.ts";
import { allot, park, room, unskip, freeSlot } from "./headcount.ts";
import { findLowest } from "./preemption.ts";

/**
 * Whether no slot will ever be freed: every holder waits, and every waiting run waits only for runs that wait or are
 * queued. `asking` is a working run that is about to wait for a queued one.
 */
export function isStuck(draft: Draft, asking: RunId | null): boolean {
  const isAsking = asking !== null && draft.slots.get(asking)?.phase === "running";
  if (draft.tree.headcount.active > (isAsking ? 1 : 0)) return false;
  const waiting = draft.allSlots().filter(([, slot]) => waitsForRuns(slot));
  draft.prefetch({ waits: waiting.map(([run]) => run) });
  return waiting.every(([run]) => waitsForLiveRuns(draft, run));
}

/** Whether every run that it waits for is live, and neither cancelled nor held. A held run waits for a person. */
function waitsForLiveRuns(draft: Draft, waiting: RunId): boolean {
  return (draft.waits.get(waiting) ?? []).every((run) => {
    const other = draft.slots.get(run);
    return other?.cancelled === null && !other.held;
  });
}

/**
 * Resolves a deadlock. Demoted runs are no longer skipped. If a parked run could continue, a waiting run gives up its
 * slot. If there are only queued runs, they are dropped: they should not have been admitted.
 */
export function fillFreedSlots(draft: Draft, at: number): void {
  if (!hasLine(draft.tree.headcount) || !isStuck(draft, null)) return;
  if (room(draft) > 0) {
    unskip(draft, null);
    return allot(draft, at);
  }
  const inLine = draft.allSlots().filter(([, slot]) => isInLine(slot));
  const line = inLine.toSorted(([, a], [, b]) => a.order - b.order);
  if (line.some(([, { phase }]) => phase === "parked")) return lendSlot(draft, at);
  for (const [run] of line) dropRun(draft, run);
}

function lendSlot(draft: Draft, at: number): void {
  const lender = findLowest(draft, holdsSlot);
  if (lender !== null && park(draft, lender, at)) freeSlot(draft, lender, at);
}

/** Drops a queued run. It is marked as cancelled, so that it is not launched before the tree has removed it. */
function dropRun(draft: Draft, run: RunId): void {
  draft.slots.patch(run, { cancelled: "would-deadlock" });
  draft.effects.push({ kind: "drop", run, reason: "would-deadlock" });
}
