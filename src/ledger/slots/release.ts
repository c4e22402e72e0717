import { Usage } from "#kernel";
import { Amounts } from "../money/amounts.ts";
import { leaveCallLine } from "../money/call-line.ts";
import type { ReleaseResult, DecisionResult, RunAt } from "../command.ts";
import { fillFreedSlots } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { holdsSlot } from "./count.ts";
import { handOver, freeSlot, withdraw } from "./headcount.ts";
import { lose } from "../money/lose.ts";
import type { LedgerState } from "../state.ts";

const nothing: ReleaseResult = { usage: Usage.none, settled: Amounts.none, inDoubt: Amounts.none };

/**
 * Releases an ended run. Its slot is free, and its open calls are in doubt. Its remaining children move to its parent,
 * whose accounts already carry them. A run that had already ended returns nothing.
 */
export function releaseSlot(state: LedgerState, { run, at }: RunAt): DecisionResult<ReleaseResult> {
  const draft = new Draft(state, at);
  const slot = draft.slots.get(run);
  if (!slot) return draft.toResult(nothing);
  for (const { id } of draft.accounts.need(run).attempts) lose(draft, run, id);
  for (const { step } of draft.accounts.need(run).waiting) leaveCallLine(draft, run, step);
  const { usage, settled, inDoubt } = draft.accounts.need(run);
  withdraw(draft, run);
  const children = slot.children === 0 ? [] : draft.findChildren()(run);
  draft.prefetch({ slots: children });
  for (const child of children) draft.slots.patch(child, { parent: slot.parent });
  draft.slots.delete(run);
  draft.waits.delete(run);
  draft.accounts.delete(run);
  if (holdsSlot(slot) && handOver(draft, slot.taker, at)) freeSlot(draft, run, at);
  fillFreedSlots(draft, at);
  return draft.toResult({ usage, settled, inDoubt });
}
