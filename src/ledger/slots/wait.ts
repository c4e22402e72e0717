import type { RunId } from "#kernel";
import type { Decided, RunAt, Standing, Wait } from "../command.ts";
import { relieve } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { holds } from "./count.ts";
import { allot, park, vacate } from "./headcount.ts";
import type { LedgerState } from "../state.ts";

/** A run waits. It keeps its slot unless it was told to yield: then there is nothing left to finish. */
export function wait(state: LedgerState, { run, on, at }: Wait): Decided<Standing> {
  const draft = new Draft(state);
  const slot = draft.slots.get(run);
  if (slot && holds(slot)) {
    if (on) draft.waits.put(run, on);
    draft.slots.patch(run, { phase: "waiting", waitsForRuns: on !== null });
    if (slot.phase === "yielding" && park(draft, run, at)) vacate(draft, run, at);
    relieve(draft, at);
  }
  return draft.decided(standing(draft, run));
}

/** A run that waited goes on; if its slot was taken meanwhile, only once it has one again. */
export function wake(state: LedgerState, { run, at }: RunAt): Decided<Standing> {
  const draft = new Draft(state);
  const slot = draft.slots.get(run);
  if (slot?.phase === "waiting") draft.slots.patch(run, { phase: "running", waitsForRuns: false });
  if (slot?.phase === "parked" && slot.asleep) {
    draft.slots.patch(run, { asleep: false, waitsForRuns: false, since: at });
    allot(draft, at);
    relieve(draft, at);
  }
  return draft.answered(run, standing(draft, run));
}

/** A run that was told to yield has begun nothing more and stands still. Spared meanwhile, it stays. */
export function yieldSlot(state: LedgerState, { run, at }: RunAt): Decided<Standing> {
  const draft = new Draft(state);
  if (draft.slots.get(run)?.phase === "yielding") {
    if (park(draft, run, at)) vacate(draft, run, at);
    relieve(draft, at);
  }
  return draft.decided(standing(draft, run));
}

/** Where a run stands now. */
export function standing(draft: Draft, run: RunId): Standing {
  return { phase: draft.slots.get(run)?.phase ?? "ended" };
}
