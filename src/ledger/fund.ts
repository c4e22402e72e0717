import { Account } from "./account.ts";
import type { Amounts } from "./amounts.ts";
import type { Decided, Lend, TopUp } from "./command.ts";
import { Draft } from "./draft.ts";
import type { LedgerState } from "./state.ts";

/**
 * Raises the limits of a run, or of the tree. What has no limit stays so. False for a run that has ended.
 * @throws RangeError on less than nothing.
 */
export function topUp(state: LedgerState, { run, tokens, cost, turns }: TopUp): Decided<boolean> {
  for (const more of [tokens, cost, turns]) {
    if (!Number.isSafeInteger(more) || more < 0) throw new RangeError(`top up by ${more}`);
  }
  const draft = new Draft(state);
  const owner = run ?? draft.tree.root;
  if (!draft.slots.get(owner)) return draft.decided(false);
  const raised = ({ maxTokens, maxCost }: Account) => ({
    maxTokens: raise(maxTokens, tokens),
    maxCost: raise(maxCost, cost),
  });
  const account = draft.accounts.need(owner);
  const own = run === null ? {} : raised(account);
  draft.accounts.patch(owner, { ...own, maxTurns: raise(account.maxTurns, turns) });
  if (run === null) {
    draft.tree = { ...draft.tree, account: { ...draft.tree.account, ...raised(draft.tree.account) } };
  }
  return draft.decided(true);
}

/** The tenant has lent the tree more. */
export function lend(state: LedgerState, { tokens, cost }: Lend): Decided<null> {
  const draft = new Draft(state);
  const { block } = draft.tree;
  if (block) {
    draft.tree = {
      ...draft.tree,
      block: { tokens: raise(block.tokens, tokens), cost: raise(block.cost, cost) },
    };
  }
  return draft.decided(null);
}

/** The tree returns what it has borrowed and does not use. The decision says how much that is. */
export function giveBack(state: LedgerState): Decided<Amounts> {
  const { block, account } = state.tree;
  const spend = Account.spend(account);
  const tokens = Math.max(0, (block?.tokens ?? 0) - spend.tokens);
  const cost = Math.max(0, (block?.cost ?? 0) - spend.cost);
  const { state: next } = lend(state, { tokens: -tokens, cost: -cost });
  return { state: next, decision: { tokens, cost }, effects: [] };
}

function raise(limit: number | null, by: number): number | null {
  return limit === null ? null : limit + by;
}
