import { Account } from "./account.ts";
import type { DecisionResult, TopUp } from "../command.ts";
import { Draft } from "../draft.ts";
import type { LedgerState } from "../state.ts";

/**
 * Raises the limits of a run, or of the tree. An absent limit stays absent. An exceeded account opens again if the new
 * limit covers its spend. Returns false for an ended run. @throws RangeError on a negative amount.
 */
export function topUp(
  state: LedgerState,
  { run, tokens, costMicros: cost, turns }: TopUp,
): DecisionResult<boolean> {
  for (const more of [tokens, cost, turns]) {
    if (!Number.isSafeInteger(more) || more < 0)
      throw new RangeError(`a top-up must be an integer >= 0, got ${more}`);
  }
  const draft = new Draft(state);
  const owner = run ?? draft.tree.root;
  if (!draft.slots.get(owner)) return draft.toResult(false);
  const raise = (account: Account): Pick<Account, "maxTokens" | "maxCostMicros" | "exceeded"> => {
    const maxTokens = raiseLimit(account.maxTokens, tokens);
    const maxCostMicros = raiseLimit(account.maxCostMicros, cost);
    const overspent = Account.overspent({ ...account, maxTokens, maxCostMicros });
    const exceeded = account.exceeded.filter((dimension) => overspent.includes(dimension));
    return { maxTokens, maxCostMicros, exceeded };
  };
  const account = draft.accounts.need(owner);
  const own = run === null ? {} : raise(account);
  draft.accounts.patch(owner, { ...own, maxTurns: raiseLimit(account.maxTurns, turns) });
  if (run === null) {
    draft.tree = { ...draft.tree, account: { ...draft.tree.account, ...raise(draft.tree.account) } };
  }
  return draft.toResult(true);
}

/** Returns the higher limit, at most the largest number that is counted exactly. */
function raiseLimit(limit: number | null, by: number): number | null {
  return limit === null ? null : Math.min(limit + by, Number.MAX_SAFE_INTEGER);
}
