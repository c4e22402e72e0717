import type { RunId } from "#kernel";
import type { Headcount, Slot } from "../state.ts";

/** Whether a run counts against `maxAgents`. */
export function holds({ phase }: Slot): boolean {
  return phase === "running" || phase === "waiting" || phase === "yielding";
}

/** Whether a run could use a slot now. */
export function isInLine(slot: Slot): boolean {
  const wants = slot.phase === "pending" || (slot.phase === "parked" && !slot.asleep);
  return wants && !slot.held && slot.cancelled === null;
}

/** Whether a run only waits for other runs. Then it depends on those whether it will go on. */
export function waitsForRuns(slot: Slot): boolean {
  return (slot.phase === "waiting" || slot.asleep) && slot.cancelled === null && slot.waitsForRuns;
}

const isActive = (slot: Slot): boolean => (holds(slot) || slot.asleep) && !waitsForRuns(slot);

/** The headcount after a slot has changed. Undefined: the run did not live before, or does not live after. */
export function countSlot(
  headcount: Headcount,
  run: RunId,
  { before, after }: { readonly before: Slot | undefined; readonly after: Slot | undefined },
): Headcount {
  const change = (is: (slot: Slot) => boolean): number =>
    (after && is(after) ? 1 : 0) - (before && is(before) ? 1 : 0);
  const live = headcount.live + change(() => true);
  const holders = headcount.holders + change(holds);
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
