import { Json } from "#kernel";
import type { BudgetAccount, Loan } from "#ledger";

/** Finds the problem of a tenant's budget, its quota leases and their list. Null: none. */
export function findTenantFault(state: ReadonlyMap<string, Json>): string | null {
  const budget = Json.as<BudgetAccount | null>(state.get("budget") ?? null);
  if (!budget) return null;
  const { lent } = budget;
  const named = (prefix: string): readonly (readonly [string, Json])[] =>
    [...state].filter(([key]) => key.startsWith(prefix));
  const holders = named("holder/").map(([, tree]) => Json.as<string>(tree));
  const borrowers = named("loan/").map(([key]) => key.slice("loan/".length));
  if (holders.toSorted().join() !== borrowers.toSorted().join())
    return `the trees ${borrowers.join()} have borrowed, and ${holders.join()} are listed`;
  const loans = named("loan/").reduce((sum, [, loan]) => sum + Json.as<Loan>(loan).tokens, 0);
  if (loans !== lent.tokens) return `the tenant counts ${lent.tokens} tokens as lent, its loans are ${loans}`;
  for (const [key, value] of named("budget")) {
    const account = Json.as<BudgetAccount>(value);
    if (account.lent.tokens + account.spent.tokens > (account.maxTokens ?? Infinity))
      return `${key} has lent ${account.lent.tokens} and spent ${account.spent.tokens} tokens of ${account.maxTokens}`;
  }
  return null;
}
