import type { RunId } from "#kernel";
import type { Decided, RunAt } from "../command.ts";
import { relieve } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { allot, park, spare, vacate, withdraw } from "./headcount.ts";
import { subtree } from "./lineage.ts";
import { tell } from "./preemption.ts";
import type { LedgerState } from "../state.ts";

/** Holds a run and its descendants until `resume`. Returns the runs that were not held before. */
export function pause(state: LedgerState, { run, at }: RunAt): Decided<readonly RunId[]> {
  const draft = new Draft(state);
  return draft.decided(hold(draft, run, at));
}

/** Lifts the hold of a run and its descendants. They are queued for a slot from now on. */
export function resume(state: LedgerState, { run, at }: RunAt): Decided<readonly RunId[]> {
  const draft = new Draft(state);
  const lifted = subtree(draft, run).filter((member) => draft.slots.need(member).held);
  for (const member of lifted) {
    draft.slots.patch(member, { held: false, since: at });
    if (member === draft.tree.root) draft.effects.push({ kind: "spare", run: member });
    else spare(draft, member);
  }
  allot(draft, at);
  relieve(draft, at);
  return draft.decided(lifted);
}

/** Holds a run and its descendants. Running ones are requested to yield; waiting ones lose their slot immediately. */
export function hold(draft: Draft, run: RunId, at: number): readonly RunId[] {
  const members = subtree(draft, run).filter((member) => {
    const { held, cancelled } = draft.slots.need(member);
    return !held && cancelled === null;
  });
  // All are held, and have left their slots, before the first slot is given to another run.
  for (const member of members) draft.slots.patch(member, { held: true });
  const left = members.filter((member) => stop(draft, member, at));
  if (left.length > 0) vacate(draft, null, at);
  return members;
}

/** Stops a run. Returns whether that frees a slot. */
function stop(draft: Draft, run: RunId, at: number): boolean {
  const { phase } = draft.slots.need(run);
  if (run === draft.tree.root) draft.effects.push({ kind: "tell", run, cause: "held" });
  else if (phase === "running") tell(draft, run, "held");
  else if (phase === "waiting") return park(draft, run, at);
  else withdraw(draft, run);
  return false;
}
