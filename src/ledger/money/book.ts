import type { BudgetDimension, RunId } from "#kernel";
import { Account, type Booking } from "./account.ts";
import { dimensions } from "./fit.ts";
import type { Draft } from "../draft.ts";

/** Books on the accounts of these runs and on the tree's. Warns when 80 % of a limit is used. */
export function book(draft: Draft, runs: readonly RunId[], booking: Booking): void {
  for (const run of runs) {
    const account = draft.accounts.need(run);
    const booked = { ...account, ...booking(account) };
    const { maxTurns, turns } = booked;
    const warned = warn(draft, run, booked, { limit: maxTurns, used: turns });
    draft.accounts.put(run, warned === booked.warned ? booked : { ...booked, warned });
  }
  const account = { ...draft.tree.account, ...booking(draft.tree.account) };
  const warned = warn(draft, null, account, noTurns);
  draft.tree = { ...draft.tree, account: warned === account.warned ? account : { ...account, warned } };
}

/** A warning that 80 % of a limit is used. */
export interface Warning {
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
}

interface Meter {
  readonly limit: number | null;
  readonly used: number;
}

const none: readonly Warning[] = [];
const noTurns: Meter = { limit: null, used: 0 };

/** Records new warnings. Returns all dimensions that the account was warned about. */
function warn(draft: Draft, run: RunId | null, account: Account, turns: Meter): readonly BudgetDimension[] {
  const fresh = findWarnings(account, turns);
  if (fresh.length === 0) return account.warned;
  for (const warning of fresh) draft.effects.push({ kind: "warn", run, ...warning });
  return [...account.warned, ...fresh.map(({ dimension }) => dimension)];
}

/** Returns the warnings that an account has not had yet. */
export function findWarnings(account: Account, turns: Meter): readonly Warning[] {
  const { maxTokens, maxCostMicros, warned } = account;
  if (maxTokens === null && maxCostMicros === null && turns.limit === null) return none;
  const { tokens, costMicros } = Account.spend(account);
  const meters = {
    tokens: { limit: maxTokens, used: tokens },
    cost: { limit: maxCostMicros, used: costMicros },
    turns,
  };
  let fresh: Warning[] | null = null;
  for (const dimension of dimensions) {
    const { limit, used } = meters[dimension];
    if (limit === null || used <= 0 || used * 5 < limit * 4 || warned.includes(dimension)) continue;
    (fresh ??= []).push({ dimension, limit, used });
  }
  return fresh ?? none;
}
