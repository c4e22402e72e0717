import type { RunId } from "#kernel";
import type { Cancel, DecisionResult } from "../command.ts";
import { Draft } from "../draft.ts";
import { withdraw } from "./headcount.ts";
import { subtree } from "./ancestry.ts";
import type { LedgerState } from "../state.ts";

/**
 * Marks a run and its descendants as cancelled: nothing more begins in them, and none of them gets a slot. Slots that
 * they hold stay held until release. Returns the runs that were not marked before: the first reason wins.
 */
export function cancelSlots(
  state: LedgerState,
  { run, also = [], reason, at }: Cancel,
): DecisionResult<readonly RunId[]> {
  const draft = new Draft(state, at);
  const marked = subtree(draft, run, ...also).filter((member) => draft.slots.need(member).cancelled === null);
  for (const member of marked) draft.slots.patch(member, { cancelled: reason });
  for (const member of marked) withdraw(draft, member);
  return draft.toResult(marked);
}
