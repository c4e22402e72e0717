import type { RunId } from "#kernel";
import type { Headcount, Slot, TreeState } from "../state.ts";

/** Whether a run counts against `maxAgents`. */
export function holdsSlot({ phase }: Slot): boolean {
  return phase === "running" || phase === "waiting" || phase === "yielding";
}

/** Whether a run could use a slot now. */
export function isInLine(slot: Slot): boolean {
  const wants = slot.phase === "pending" || (slot.phase === "parked" && !slot.asleep);
  return wants && !slot.held && slot.cancelled === null;
}

/** Whether a run waits only for other runs, so that its progress depends on them. */
export function waitsForRuns(slot: Slot): boolean {
  return (slot.phase === "waiting" || slot.asleep) && slot.cancelled === null && slot.waitsForRuns;
}

/**
 * Whether neither the run nor any run below it can make progress. A cancelled run is about to end. A run that waits only
 * for runs depends on its children; without children it waits for runs elsewhere in the tree, which counts as work.
 */
export function standsStill(slot: Slot): boolean {
  const { phase, held, isBlocked, children } = slot;
  if (slot.cancelled !== null || slot.idleChildren < children) return false;
  if (phase === "waiting") return held || isBlocked || (slot.waitsForRuns && children > 0);
  return held || phase === "pending" || phase === "parked";
}

/** Returns the time for which a run has stood still, at a moment in working time. */
export function idleTime({ idleMs, idleSince }: Slot, workingTime: number): number {
  return idleMs + (idleSince === null ? 0 : Math.max(0, workingTime - idleSince));
}

/** Returns the time without the time in which there was no worker. */
export function toWorkingTime({ absentMs = 0 }: Pick<TreeState, "absentMs">, at: number): number {
  return at - absentMs;
}

/** Whether runs could use a slot, now or as soon as another slot is freed: skipped ones stand in line, too. */
export function hasLine({ line, skipped }: Headcount): boolean {
  return skipped.length > 0 || Object.keys(line).length > 0;
}

const isActive = (slot: Slot): boolean => (holdsSlot(slot) || slot.asleep) && !waitsForRuns(slot);

/** Returns the headcount after a change of a slot. Undefined: the run was not alive before, or is not alive after. */
export function countSlot(
  headcount: Headcount,
  run: RunId,
  { before, after }: { readonly before: Slot | undefined; readonly after: Slot | undefined },
): Headcount {
  const change = (is: (slot: Slot) => boolean): number =>
    (after && is(after) ? 1 : 0) - (before && is(before) ? 1 : 0);
  const live = headcount.live + change(() => true);
  const holders = headcount.holders + change(holdsSlot);
  const active = headcount.active + change(isActive);
  const skipped = after?.skipped ?? false;
  const isSame =
    live === headcount.live &&
    holders === headcount.holders &&
    active === headcount.active &&
    skipped === (before?.skipped ?? false);
  if (isSame) return headcount;
  const others = headcount.skipped.filter((other) => other !== run);
  return { ...headcount, live, holders, active, skipped: skipped ? [...others, run] : others };
}

/** The headcount of a tree without runs. */
export const emptyHeadcount: Headcount = Object.freeze({
  live: 0,
  holders: 0,
  active: 0,
  skipped: Object.freeze([]),
  line: Object.freeze({}),
});
