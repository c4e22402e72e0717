import { Account } from "../money/account.ts";
import type { Adopt, DecisionResult } from "../command.ts";
import { Draft } from "../draft.ts";
import { path } from "./ancestry.ts";
import type { LedgerState } from "../state.ts";

/**
 * Moves a run, with its descendants, to an ancestor of its parent. Its calls in flight leave the accounts in between;
 * its spend there stays. Returns false unless `parent` is an ancestor of `run`.
 */
export function adopt(state: LedgerState, { run, parent, at }: Adopt): DecisionResult<boolean> {
  const draft = new Draft(state, at);
  const above = path(draft.slots, run).slice(0, -1);
  const place = parent === null ? -1 : above.indexOf(parent);
  if (above.length === 0 || (parent !== null && place === -1)) return draft.toResult(false);
  const { reserved, inFlight } = draft.accounts.need(run);
  const leave = Account.unreserve(reserved, inFlight);
  for (const former of above.slice(place + 1)) {
    draft.accounts.patch(former, leave(draft.accounts.need(former)));
  }
  draft.slots.patch(run, { parent });
  return draft.toResult(true);
}
