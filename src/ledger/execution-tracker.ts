import { BudgetExhaustedError, ExecutionBudget, Usage } from "#kernel";
import { Account, type RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";

/** What a call uses, or may use at most. Absent: none. */
export interface Consumption {
  readonly tokens?: number;
  readonly costUsd?: number;
  readonly turns?: number;
}

/** A call that is paid for at its worst until it is settled. */
export interface Reservation {
  readonly ceiling: Amounts;
}

/** One run's tab alone, for code without a runtime. Nothing is kept for landing. */
export class ExecutionTracker {
  #account: RunAccount;
  readonly #open = new Set<Reservation>();

  constructor(budget: ExecutionBudget = {}) {
    this.#account = Account.ofRun(ExecutionBudget.of(budget));
  }

  /** Books what is spent already. @throws BudgetExhaustedError if that is over a limit: too late by one call. */
  consume(used: Consumption): void {
    this.#account = reserved(this.#account, used);
    const over = exceeded(this.#account);
    if (over) throw new BudgetExhaustedError(over);
  }

  /** Books the worst case of a call before it is made. @throws BudgetExhaustedError with nothing booked. */
  reserve(most: Consumption): Reservation {
    const next = reserved(this.#account, most);
    const over = exceeded(next);
    if (over) throw new BudgetExhaustedError({ ...over, used: meters(this.#account)[over.dimension].used });
    this.#account = next;
    const reservation = { ceiling: amounts(most) };
    this.#open.add(reservation);
    return reservation;
  }

  /** Books what the call really used instead. Settling twice changes nothing. */
  settle(reservation: Reservation, used: Omit<Consumption, "turns">): void {
    if (!this.#open.delete(reservation)) return;
    const real = { amounts: amounts(used), usage: Usage.none };
    this.#account = { ...this.#account, ...Account.settle(reservation.ceiling, real)(this.#account) };
  }
}

function reserved(account: RunAccount, most: Consumption): RunAccount {
  const turns = account.turns + (most.turns ?? 0);
  return { ...account, ...Account.reserve(amounts(most))(account), turns };
}

/** A charge rounds up; the tolerance removes binary dust, as it does for caps. */
function amounts({ tokens = 0, costUsd = 0 }: Consumption): Amounts {
  return { tokens, cost: Math.ceil(costUsd * 1_000_000 - 1e-4) };
}

function meters(account: RunAccount) {
  const { tokens, cost } = Account.spend(account);
  return {
    tokens: { limit: account.maxTokens, used: tokens },
    cost: { limit: account.maxCost, used: cost },
    turns: { limit: account.maxTurns, used: account.turns },
  };
}

function exceeded(account: RunAccount) {
  const all = meters(account);
  for (const dimension of ["tokens", "cost", "turns"] as const) {
    const { limit, used } = all[dimension];
    if (limit !== null && used > limit) return { dimension, limit, used };
  }
  return null;
}
