import { type Price, Usage } from "#kernel";
import { Account, type Booking, type RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";
import { type Warning, findWarnings } from "./book.ts";
import type { ReservationRequest } from "./reservation-request.ts";
import type { BookedAmounts } from "../command.ts";
import { addCaps, addTurnCap, type Cap, type Denial, fit, type Grant } from "./fit.ts";
import { isCredible, realOf } from "./settle.ts";

/** A call that is booked on some accounts, with the data to settle it. */
export interface SharedCall {
  readonly ceiling: Amounts;
  readonly price: Price | null;
}

/** The accounts after a decision, in the given order. */
export interface SharedDecision<Decision> {
  readonly accounts: readonly RunAccount[];
  readonly decision: Decision;
  /** The warnings of each account. */
  readonly warnings: readonly (readonly Warning[])[];
}

/**
 * Books a call on all of these accounts, or on none. The accounts are standalone: no tree, no slots, no landing slice.
 * The nearest comes first. Each counts the call as a turn.
 */
function beginShared(
  accounts: readonly RunAccount[],
  ask: ReservationRequest,
): SharedDecision<Grant | Denial> {
  const caps: Cap[] = [];
  for (const account of accounts) {
    addCaps(caps, { name: "run", owner: null, account, fixed: account.reserved }, account, () => 0);
    addTurnCap(caps, null, account, 0);
  }
  const decision = fit(ask, caps);
  if (decision.kind === "denied") return keepAccounts(accounts, decision);
  const begun = accounts.map((account) => ({ ...account, turns: account.turns + 1 }));
  return bookShared(begun, Account.reserve(decision.ceiling), decision);
}

/** Books the real usage of a call. Unknown or incredible figures leave it booked at its ceiling, in doubt. */
function settleShared(
  accounts: readonly RunAccount[],
  { ceiling, price }: SharedCall,
  usage: Usage | null,
): SharedDecision<BookedAmounts> {
  if (!isCredible(usage, { ceiling }))
    return bookShared(accounts, Account.doubt(ceiling), { ...ceiling, inDoubt: true });
  const real = realOf(usage, price);
  return bookShared(accounts, Account.settle(ceiling, real), { ...real.amounts, inDoubt: false });
}

/** Books the real usage of a call in doubt. Null: these figures cannot be booked. */
function reconcileShared(
  accounts: readonly RunAccount[],
  { ceiling, price }: SharedCall,
  usage: Usage,
): SharedDecision<BookedAmounts | null> {
  if (!Usage.isSane(usage)) return keepAccounts(accounts, null);
  const real = realOf(usage, price);
  return bookShared(accounts, Account.clear(ceiling, real), { ...real.amounts, inDoubt: false });
}

function keepAccounts<Decision>(
  accounts: readonly RunAccount[],
  decision: Decision,
): SharedDecision<Decision> {
  return { accounts, decision, warnings: accounts.map(() => []) };
}

function bookShared<Decision>(
  accounts: readonly RunAccount[],
  booking: Booking,
  decision: Decision,
): SharedDecision<Decision> {
  const changed = accounts.map((account) => changedBy(account, booking));
  const fresh = changed.map((account) =>
    findWarnings(account, { limit: account.maxTurns, used: account.turns }),
  );
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
export const SharedReservation = {
  begin: beginShared,
  settle: settleShared,
  reconcile: reconcileShared,
} as const;
