import { Priority, type DenialReason, type RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { isInLine } from "./count.ts";
import { park } from "./headcount.ts";
import type { Holder, Slot } from "../state.ts";

/** Whether the first priority is strictly lower than the second. */
export function isBelow(a: Priority, b: Priority): boolean {
  return Priority.weight(a) < Priority.weight(b);
}

/** Returns the run that must yield for one of this priority, or the reason why none must. */
export function findVictim(
  draft: Draft,
  priority: Priority,
): { readonly victim: RunId } | { readonly victim: null; readonly reason: DenialReason } {
  if (!isBelow("normal", priority)) return { victim: null, reason: "full" };
  if (!draft.tree.spawn.allowPreempt) return { victim: null, reason: "preemption-off" };
  const victim = findLowest(draft, (slot) => canBeVictim(slot) && isBelow(slot.priority, priority));
  return victim === null ? { victim, reason: "no-lower-priority" } : { victim };
}

/** Number of candidate slots that are loaded together. The first one usually qualifies. */
const candidatesPerLoad = 16;

/** Returns the lowest qualifying holder of a slot; among equals, the one spawned last. Never the root. */
export function findLowest(draft: Draft, qualifies: (slot: Slot) => boolean): RunId | null {
  const candidates = draft.holders().filter(({ run }) => run !== draft.tree.root);
  const runs = candidates.toSorted(fromLowest).map(({ run }) => run);
  for (let from = 0; from < runs.length; from += candidatesPerLoad) {
    const next = runs.slice(from, from + candidatesPerLoad);
    draft.prefetch({ slots: next });
    const found = next.find((run) => qualifies(draft.slots.need(run)));
    if (found !== undefined) return found;
  }
  return null;
}

const fromLowest = (a: Holder, b: Holder): number =>
  Priority.weight(a.priority) - Priority.weight(b.priority) || b.order - a.order;

/** Preempts a run for a queued one, if it may. */
export function seekSlot(draft: Draft, run: RunId, at: number): void {
  const slot = draft.slots.need(run);
  if (!isInLine(slot) || slot.victim !== null) return;
  const { victim } = findVictim(draft, slot.priority);
  if (victim === null) return;
  const { phase } = draft.slots.need(victim);
  draft.slots.patch(run, { victim });
  draft.slots.patch(victim, { taker: run });
  // A waiting run has nothing to finish, so the taker gets its slot immediately.
  if (phase === "waiting") park(draft, victim, at);
  else askToYield(draft, victim, "preempted");
}

/** Requests a working run to yield. */
export function askToYield(draft: Draft, run: RunId, cause: "preempted" | "held"): void {
  draft.slots.patch(run, { phase: "yielding" });
  draft.effects.push({ kind: "tell", run, cause });
}

/** Whether a run can be preempted. A held run, except the root, has left its slot or is about to. */
function canBeVictim({ phase, cancelled }: Slot): boolean {
  return (phase === "running" || phase === "waiting") && cancelled === null;
}
