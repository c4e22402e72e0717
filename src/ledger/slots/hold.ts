import type { RunId } from "#kernel";
import type { DecisionResult, RunAt } from "../command.ts";
import { fillFreedSlots } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { allot, park, cancelYield, freeSlot, withdraw } from "./headcount.ts";
import { subtree } from "./ancestry.ts";
import { askToYield } from "./preemption.ts";
import type { LedgerState } from "../state.ts";

/** Holds a run and its descendants until `resumeSlots`. Returns the runs that were not held before. */
export function pauseSlots(state: LedgerState, { run, at }: RunAt): DecisionResult<readonly RunId[]> {
  const draft = new Draft(state, at);
  return draft.toResult(holdSubtree(draft, run, at));
}

/** Lifts the hold of a run and its descendants. They are queued for a slot from now on. */
export function resumeSlots(state: LedgerState, { run, at }: RunAt): DecisionResult<readonly RunId[]> {
  const draft = new Draft(state, at);
  const lifted = subtree(draft, run).filter((member) => draft.slots.need(member).held);
  for (const member of lifted) {
    draft.slots.patch(member, { held: false, since: at });
    if (member === draft.tree.root) draft.effects.push({ kind: "spare", run: member });
    else cancelYield(draft, member);
  }
  allot(draft, at);
  fillFreedSlots(draft, at);
  return draft.toResult(lifted);
}

/** Holds a run and its descendants. Running ones are requested to yield; waiting ones lose their slot immediately. */
export function holdSubtree(draft: Draft, run: RunId, at: number): readonly RunId[] {
  const members = subtree(draft, run).filter((member) => {
    const { held, cancelled } = draft.slots.need(member);
    return !held && cancelled === null;
  });
  // All are held, and have left their slots, before the first slot is given to another run.
  for (const member of members) draft.slots.patch(member, { held: true });
  const left = members.filter((member) => stop(draft, member, at));
  if (left.length > 0) freeSlot(draft, null, at);
  return members;
}

/** Stops a run. Returns whether that frees a slot. */
function stop(draft: Draft, run: RunId, at: number): boolean {
  const { phase } = draft.slots.need(run);
  if (run === draft.tree.root) draft.effects.push({ kind: "tell", run, cause: "held" });
  else if (phase === "running") askToYield(draft, run, "held");
  else if (phase === "waiting") return park(draft, run, at);
  else withdraw(draft, run);
  return false;
}
