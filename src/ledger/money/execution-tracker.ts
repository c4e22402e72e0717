import { BudgetExhaustedError, ExecutionBudget, Usage } from "#kernel";
import { Account, type RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";

/** The usage of a call, or its maximum. Absent: none. */
export interface Consumption {
  readonly tokens?: number;
  readonly costUsd?: number;
  readonly turns?: number;
}

/** A call that is booked at its maximum until it is settled. */
export interface Reservation {
  readonly ceiling: Amounts;
}

/** The account of one run alone, for code without a runtime. It keeps no landing slice. */
export class ExecutionTracker {
  #account: RunAccount;
  readonly #open = new Set<Reservation>();

  constructor(budget: ExecutionBudget = {}) {
    this.#account = Account.ofRun(ExecutionBudget.of(budget));
  }

  /** Books usage after the fact. @throws BudgetExhaustedError if it is over a limit: too late by one call. */
  consume(used: Consumption): void {
    this.#account = chargeAccount(this.#account, used);
    check(this.#account, this.#account);
  }

  /** Books the maximum of a call before it is made. @throws BudgetExhaustedError with nothing booked. */
  reserve(most: Consumption): Reservation {
    this.#account = check(chargeAccount(this.#account, most), this.#account);
    const reservation = { ceiling: amounts(most) };
    this.#open.add(reservation);
    return reservation;
  }

  /** Replaces the reservation by the real usage, once. Impossible figures change nothing. */
  settle(reservation: Reservation, used: Omit<Consumption, "turns">): void {
    if (!this.#open.delete(reservation) || !isSane(used)) return;
    const real = { amounts: amounts(used), usage: Usage.none };
    this.#account = { ...this.#account, ...Account.settle(reservation.ceiling, real)(this.#account) };
  }
}

function chargeAccount(account: RunAccount, more: Consumption): RunAccount {
  if (!isSane(more))
    throw new RangeError(
      `invalid consumption: tokens, costMicros and turns must be integers >= 0, got ${JSON.stringify(more)}`,
    );
  const turns = account.turns + (more.turns ?? 0);
  return { ...account, ...Account.reserve(amounts(more))(account), turns };
}

function isSane({ tokens = 0, costUsd = 0, turns = 0 }: Consumption): boolean {
  return [tokens, costUsd, turns].every((count) => Number.isFinite(count) && count >= 0);
}

/** Converts usage to amounts. A charge rounds up; the tolerance removes binary rounding errors, as for caps. */
function amounts({ tokens = 0, costUsd = 0 }: Consumption): Amounts {
  return { tokens, costMicros: Math.ceil(costUsd * 1_000_000 - 1e-4) };
}

function meters(account: RunAccount) {
  const { tokens, costMicros: cost } = Account.spend(account);
  return [
    { dimension: "tokens", limit: account.maxTokens, used: tokens },
    { dimension: "cost", limit: account.maxCostMicros, used: cost },
    { dimension: "turns", limit: account.maxTurns, used: account.turns },
  ] as const;
}

/** Returns the account. @throws BudgetExhaustedError if it is over a limit, with the usage `before`. */
function check(account: RunAccount, before: RunAccount): RunAccount {
  meters(account).forEach(({ dimension, limit, used }, index) => {
    if (limit === null || used <= limit) return;
    throw new BudgetExhaustedError({ dimension, limit, used: meters(before)[index]?.used ?? used });
  });
  return account;
}
