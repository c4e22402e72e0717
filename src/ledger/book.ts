import type { BudgetDimension, RunId } from "#kernel";
import { Account, type Booking } from "./account.ts";
import type { Draft } from "./draft.ts";

/** Books on the accounts of these runs and on the tree's, and warns where that uses 80 % of a limit. */
export function book(draft: Draft, runs: readonly RunId[], booking: Booking): void {
  for (const run of runs) {
    draft.accounts.patch(run, booking(draft.accounts.need(run)));
    const account = draft.accounts.need(run);
    const warned = warn(draft, { run, account, turns: { limit: account.maxTurns, used: account.turns } });
    draft.accounts.patch(run, { warned });
  }
  const account = { ...draft.tree.account, ...booking(draft.tree.account) };
  const warned = warn(draft, { run: null, account, turns: { limit: null, used: 0 } });
  draft.tree = { ...draft.tree, account: { ...account, warned } };
}

interface Meter {
  readonly limit: number | null;
  readonly used: number;
}

function warn(
  draft: Draft,
  { run, account, turns }: { readonly run: RunId | null; readonly account: Account; readonly turns: Meter },
): readonly BudgetDimension[] {
  const { tokens, cost } = Account.spend(account);
  const meters: readonly (readonly [BudgetDimension, Meter])[] = [
    ["tokens", { limit: account.maxTokens, used: tokens }],
    ["cost", { limit: account.maxCost, used: cost }],
    ["turns", turns],
  ];
  const reached = meters.filter(
    ([dimension, meter]) => !account.warned.includes(dimension) && isNearlyUsed(meter),
  );
  if (reached.length === 0) return account.warned;
  for (const [dimension, { limit, used }] of reached) {
    draft.effects.push({ kind: "warn", run, dimension, limit: limit ?? 0, used });
  }
  return [...account.warned, ...reached.map(([dimension]) => dimension)];
}

function isNearlyUsed({ limit, used }: Meter): boolean {
  return limit !== null && used > 0 && used * 5 >= limit * 4;
}
