import { Priority, type DenialReason, type RunId } from "#kernel";
import type { Draft } from "./draft.ts";
import { isInLine, park } from "./headcount.ts";
import type { Slot } from "./state.ts";
import { entries } from "./table.ts";

/** Whether the first priority is strictly lower than the second. */
export function isBelow(a: Priority, b: Priority): boolean {
  return Priority.weight(a) < Priority.weight(b);
}

/** The run that has to make room for one of this priority, or why nobody has to. */
export function findVictim(
  draft: Draft,
  priority: Priority,
): { readonly victim: RunId } | { readonly victim: null; readonly reason: DenialReason } {
  if (!isBelow("normal", priority)) return { victim: null, reason: "full" };
  if (!draft.tree.spawn.allowPreempt) return { victim: null, reason: "preemption-off" };
  const victim = lowest(draft, (slot) => canBeVictim(slot) && isBelow(slot.priority, priority));
  return victim === null ? { victim, reason: "nobody-below" } : { victim };
}

/** The lowest of those that qualify, of equals the one hired last. Never the root. */
export function lowest(draft: Draft, qualifies: (slot: Slot) => boolean): RunId | null {
  let found: readonly [RunId, Slot] | null = null;
  for (const entry of entries(draft.slots.rows)) {
    const [run, slot] = entry;
    if (run === draft.tree.root || !qualifies(slot)) continue;
    if (found === null || isLower(slot, found[1])) found = entry;
  }
  return found && found[0];
}

/** Preempts somebody for a run in line, where it may. */
export function seekSlot(draft: Draft, run: RunId, at: number): void {
  const slot = draft.slots.need(run);
  if (!isInLine(slot) || slot.victim !== null) return;
  const { victim } = findVictim(draft, slot.priority);
  if (victim === null) return;
  const { phase } = draft.slots.need(victim);
  draft.slots.patch(run, { victim });
  draft.slots.patch(victim, { taker: run });
  // One that waits has nothing to finish: its slot is the taker's at once.
  if (phase === "waiting") park(draft, victim, at);
  else tell(draft, victim, "preempted");
}

/** Tells a run at work to yield. */
export function tell(draft: Draft, run: RunId, cause: "preempted" | "held"): void {
  draft.slots.patch(run, { phase: "yielding" });
  draft.effects.push({ kind: "tell", run, cause });
}

/** A held run, but for the root, has left or is about to. */
function canBeVictim({ phase, cancelled }: Slot): boolean {
  return (phase === "running" || phase === "waiting") && cancelled === null;
}

function isLower(a: Slot, b: Slot): boolean {
  return isBelow(a.priority, b.priority) || (a.priority === b.priority && a.order > b.order);
}
