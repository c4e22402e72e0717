import type { RunId } from "#kernel";
import { moveInCallLine } from "../money/call-line.ts";
import type { DecisionResult, Reprioritize, SlotState } from "../command.ts";
import { Draft } from "../draft.ts";
import { holdsSlot } from "./count.ts";
import { allot, park, room, cancelYield, freeSlot, withdraw } from "./headcount.ts";
import { isBelow, seekSlot, askToYield } from "./preemption.ts";
import type { LedgerState } from "../state.ts";
import { getSlotState } from "./wait.ts";

/** Changes the priority of a run. Lowered below normal in a full tree, it loses its slot. Raised, it may get one. */
export function reprioritize(
  state: LedgerState,
  { run, priority, at }: Reprioritize,
): DecisionResult<SlotState> {
  const draft = new Draft(state, at);
  const before = draft.slots.get(run);
  if (!before || before.cancelled !== null) return draft.toResult(getSlotState(draft, run));
  draft.slots.patch(run, { priority });
  if (isBelow(priority, before.priority)) lowerPriority(draft, run, at);
  if (isBelow(before.priority, priority)) raisePriority(draft, run, at);
  moveInCallLine(draft, run);
  return draft.toResult(getSlotState(draft, run));
}

function lowerPriority(draft: Draft, run: RunId, at: number): void {
  const slot = draft.slots.need(run);
  dropUnfit(draft, run, slot.victim);
  const isAtWork = slot.phase === "running" || slot.phase === "waiting";
  const isToYield = isAtWork && !slot.held && run !== draft.tree.root && isBelow(slot.priority, "normal");
  if (!isToYield || room(draft) > 0) return;
  draft.slots.patch(run, { skipped: true });
  if (slot.phase === "running") askToYield(draft, run, "preempted");
  else if (park(draft, run, at)) freeSlot(draft, run, at);
}

function raisePriority(draft: Draft, run: RunId, at: number): void {
  const slot = draft.slots.need(run);
  const { taker } = slot;
  if (holdsSlot(slot)) {
    if (!isBelow(slot.priority, "normal")) draft.slots.patch(run, { skipped: false });
    if (taker === null) return cancelYield(draft, run);
    dropUnfit(draft, taker, run);
    return seekSlot(draft, taker, at);
  }
  draft.slots.patch(run, { skipped: false });
  allot(draft, at);
  seekSlot(draft, run, at);
}

/** Cancels a preemption whose victim is no longer strictly below the taker, or may no longer be preempted. */
function dropUnfit(draft: Draft, taker: RunId, victim: RunId | null): void {
  if (victim === null) return;
  const { priority } = draft.slots.need(taker);
  const fits = isBelow("normal", priority) && isBelow(draft.slots.need(victim).priority, priority);
  if (!fits) withdraw(draft, taker);
}
