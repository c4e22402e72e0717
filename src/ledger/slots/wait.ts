import type { RunId } from "#kernel";
import type { DecisionResult, RunAt, SlotState, Wait } from "../command.ts";
import { fillFreedSlots } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { holdsSlot } from "./count.ts";
import { allot, atWork, park, freeSlot } from "./headcount.ts";
import type { LedgerState } from "../state.ts";

/** Marks a run as waiting. It keeps its slot, unless it must yield: then it has nothing left to finish. */
export function waitInSlot(
  state: LedgerState,
  { run, on, isBlocked = false, at }: Wait,
): DecisionResult<SlotState> {
  const draft = new Draft(state, at);
  const slot = draft.slots.get(run);
  if (slot && holdsSlot(slot)) {
    if (on) draft.waits.put(run, on);
    draft.slots.patch(run, { phase: "waiting", waitsForRuns: on !== null, isBlocked });
    if (slot.phase === "yielding" && park(draft, run, at)) freeSlot(draft, run, at);
    fillFreedSlots(draft, at);
  }
  return draft.toResult(getSlotState(draft, run));
}

/** Resumes a run that waited. If its slot was taken, it continues only once it has one again. */
export function wake(state: LedgerState, { run, at }: RunAt): DecisionResult<SlotState> {
  const draft = new Draft(state, at);
  const slot = draft.slots.get(run);
  if (slot?.phase === "waiting") draft.slots.patch(run, atWork);
  if (slot?.phase === "parked" && slot.asleep) {
    draft.slots.patch(run, { asleep: false, waitsForRuns: false, isBlocked: false, since: at });
    allot(draft, at);
    fillFreedSlots(draft, at);
  }
  return draft.toResultFor(run, getSlotState(draft, run));
}

/** Parks a run that must yield and has stopped. If the request was withdrawn, it keeps its slot. */
export function yieldSlot(state: LedgerState, { run, at }: RunAt): DecisionResult<SlotState> {
  const draft = new Draft(state, at);
  if (draft.slots.get(run)?.phase === "yielding") {
    if (park(draft, run, at)) freeSlot(draft, run, at);
    fillFreedSlots(draft, at);
  }
  return draft.toResult(getSlotState(draft, run));
}

/** Returns the slot state of a run. */
export function getSlotState(draft: Draft, run: RunId): SlotState {
  return { phase: draft.slots.get(run)?.phase ?? "ended" };
}
