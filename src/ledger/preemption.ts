import { Priority, type DenialReason, type RunId } from "#kernel";
import type { Draft } from "./draft.ts";
import { park } from "./headcount.ts";
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

/** Tells the victim to yield. One that waits yields at once, and the taker has its slot already. */
export function preempt(
  draft: Draft,
  { taker, victim, at }: { readonly taker: RunId; readonly victim: RunId; readonly at: number },
): void {
  const { phase } = draft.slots.need(victim);
  draft.slots.patch(taker, { victim });
  draft.slots.patch(victim, { taker });
  if (phase === "waiting") return park(draft, victim, at);
  draft.slots.patch(victim, { phase: "yielding" });
  draft.effects.push({ kind: "tell", run: victim, cause: "preempted" });
}

function canBeVictim({ phase, held, cancelled }: Slot): boolean {
  return (phase === "running" || phase === "waiting") && !held && cancelled === null;
}

function isLower(a: Slot, b: Slot): boolean {
  return isBelow(a.priority, b.priority) || (a.priority === b.priority && a.order > b.order);
}
