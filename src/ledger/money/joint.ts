import { type Price, Usage } from "#kernel";
import { Account, type Booking, type RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";
import { type Warning, warnings } from "./book.ts";
import type { Ask } from "./ask.ts";
import type { Booked } from "../command.ts";
import { addCaps, addTurnCap, type Cap, type Denial, fit, type Fit } from "./fit.ts";
import { isCredible, realOf } from "./settle.ts";

/** A call that is booked on some accounts, with the data to settle it. */
export interface JointCall {
  readonly ceiling: Amounts;
  readonly price: Price | null;
}

/** The accounts after a decision, in the given order. */
export interface JointDecided<Decision> {
  readonly accounts: readonly RunAccount[];
  readonly decision: Decision;
  /** The warnings of each account. */
  readonly warnings: readonly (readonly Warning[])[];
}

/**
 * Books a call on all of these accounts, or on none. The accounts are standalone: no tree, no slots, no landing slice.
 * The nearest comes first. Each counts the call as a turn.
 */
function begin(accounts: readonly RunAccount[], ask: Ask): JointDecided<Fit | Denial> {
  const caps: Cap[] = [];
  for (const account of accounts) {
    addCaps(caps, { name: "run", owner: null, account, fixed: account.reserved }, account, () => 0);
    addTurnCap(caps, null, account, 0);
  }
  const decision = fit(ask, caps);
  if (decision.kind === "denied") return unchanged(accounts, decision);
  const begun = accounts.map((account) => ({ ...account, turns: account.turns + 1 }));
  return booked(begun, Account.reserve(decision.ceiling), decision);
}

/** Books the real usage of a call. Unknown or incredible figures leave it booked at its ceiling, in doubt. */
function settle(
  accounts: readonly RunAccount[],
  { ceiling, price }: JointCall,
  usage: Usage | null,
): JointDecided<Booked> {
  if (!isCredible(usage, { ceiling }))
    return booked(accounts, Account.doubt(ceiling), { ...ceiling, inDoubt: true });
  const real = realOf(usage, price);
  return booked(accounts, Account.settle(ceiling, real), { ...real.amounts, inDoubt: false });
}

/** Books the real usage of a call in doubt. Null: these figures cannot be booked. */
function reconcile(
  accounts: readonly RunAccount[],
  { ceiling, price }: JointCall,
  usage: Usage,
): JointDecided<Booked | null> {
  if (!Usage.isSane(usage)) return unchanged(accounts, null);
  const real = realOf(usage, price);
  return booked(accounts, Account.clear(ceiling, real), { ...real.amounts, inDoubt: false });
}

function unchanged<Decision>(accounts: readonly RunAccount[], decision: Decision): JointDecided<Decision> {
  return { accounts, decision, warnings: accounts.map(() => []) };
}

function booked<Decision>(
  accounts: readonly RunAccount[],
  booking: Booking,
  decision: Decision,
): JointDecided<Decision> {
  const changed = accounts.map((account) => changedBy(account, booking));
  const fresh = changed.map((account) => warnings(account, { limit: account.maxTurns, used: account.turns }));
  const warned = changed.map((account, index) => warnedOf(account, fresh[index] ?? []));
  return { accounts: warned, decision, warnings: fresh };
}

function changedBy(account: RunAccount, booking: Booking): RunAccount {
  return { ...account, ...booking(account) };
}

function warnedOf(account: RunAccount, fresh: readonly Warning[]): RunAccount {
  if (fresh.length === 0) return account;
  return { ...account, warned: [...account.warned, ...fresh.map(({ dimension }) => dimension)] };
}

/** Calls on accounts that the caller keeps itself, several per call. Pure, by the rules of the {@link Ledger}. */
export const Joint = { begin, settle, reconcile } as const;
