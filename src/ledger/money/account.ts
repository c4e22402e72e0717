import {
  type AttemptId,
  type BudgetDimension,
  type ExecutionBudget,
  type LimitMet,
  type Micros,
  Money,
  type Price,
  type Priority,
  type RunId,
  type StepId,
  Usage,
} from "#kernel";
import { Amounts } from "./amounts.ts";
import type { ReservationRequest } from "./reservation-request.ts";

/**
 * The money of a run or a tree. Spend = settled + reserved + in doubt. It exceeds no limit, except by reported usage.
 */
export interface Account {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  /** Reported amounts. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** The number of these calls. */
  readonly inFlight: number;
  /** Ceilings of calls whose outcome is unknown. */
  readonly inDoubt: Amounts;
  readonly usage: Usage;
  /** Whether a call that the limits leave no room for waits for a top-up. */
  readonly waitsForTopUp: boolean;
  /** Dimensions that were warned about. Each is warned about once. */
  readonly warned: readonly BudgetDimension[];
  /** Dimensions whose limit a reported usage exceeded. Nothing begins until a top-up covers it. */
  readonly exceeded: readonly ("tokens" | "cost")[];
}

/**
 * A call that has begun and is not settled. A tool call reserves nothing. It is listed so that a lost call is noticed.
 */
export interface Attempt {
  readonly id: AttemptId;
  readonly step: StepId;
  readonly kind: "model" | "tool";
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** Maximum output tokens. 0 for a tool. */
  readonly outputTokens: number;
  /** The dimension that reduced the output. Null: none. */
  readonly shrunk: "tokens" | "cost" | null;
  readonly openedAt: number;
  /** The key of the model's price. Absent for a tool. */
  readonly model?: string | undefined;
  /** The part of the ceiling for tokens that the provider counts and the caller cannot see. Absent: 0. */
  readonly hiddenTokens?: number | undefined;
  /** The lease of the tenant's budget that the call was reserved under. Absent: none. */
  readonly leasedAt?: number | undefined;
  /** Time from which the reservation is given up if another call waits for its money. */
  readonly dueAt: number;
  /** Set if it is reserved for a waiting call that has not begun yet. */
  readonly isUnused?: true | undefined;
}

/** A model call that waits for money, in the queue of its tree. */
export interface WaitingCall {
  readonly step: StepId;
  readonly ask: ReservationRequest;
  /** Start of the wait. */
  readonly since: number;
  /** The limit that refused the call last, as it was then. */
  readonly met: LimitMet;
  /** Whether no call in flight can free enough for it. */
  readonly needsTopUp: boolean;
  /** Its priority in the queue. */
  readonly priority: Priority;
  readonly page: number;
}

/** The account of a live run, with its calls in flight. */
export interface RunAccount extends Account {
  readonly maxTurns: number | null;
  /** The run's own model calls, begun ones included. */
  readonly turns: number;
  /** A list, because there are few. They change with every call, and a list is cheap to copy. */
  readonly attempts: readonly Attempt[];
  /** The steps that are not settled yet. */
  readonly steps: readonly OpenStep[];
  /** The calls that wait for money. */
  readonly waiting: readonly WaitingCall[];
}

/** The attempts of a step. */
export interface OpenStep {
  readonly step: StepId;
  /** Attempts that have begun. */
  readonly begun: number;
  /** Attempts that were never settled. The third one holds the run. Resuming the run resets the count to 0. */
  readonly lost: number;
}

/** A call that stays booked at its ceiling until its real cost is reported. */
export interface Doubt {
  readonly run: RunId;
  readonly step: StepId;
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** The accounts it is booked on, in addition to the tree's: root first, the run last. */
  readonly path: readonly RunId[];
  /** The lease, as in the attempt. */
  readonly leasedAt?: number | undefined;
}

/** The real usage and cost of a call. */
export interface ActualCost {
  readonly usage: Usage;
  readonly amounts: Amounts;
}

/** A change of one account. Fields that it does not return stay. */
export type Booking = (account: Account) => Partial<Account>;

/** Constructors, readers and bookings of accounts. */
export const Account = {
  of: ({ maxTokens, maxCostUsd, onLimit }: ExecutionBudget): Account => ({
    maxTokens: maxTokens ?? null,
    maxCostMicros: maxCostUsd === undefined ? null : Money.cap(maxCostUsd),
    settled: Amounts.none,
    reserved: Amounts.none,
    inFlight: 0,
    inDoubt: Amounts.none,
    usage: Usage.none,
    waitsForTopUp: onLimit === "wait",
    warned: [],
    exceeded: [],
  }),
  ofRun: (budget: ExecutionBudget): RunAccount => ({
    ...Account.of(budget),
    maxTurns: budget.maxTurns ?? null,
    turns: 0,
    attempts: [],
    steps: [],
    waiting: [],
  }),
  /** Returns everything that counts against the limits. */
  spend: ({ settled, reserved, inDoubt }: Account): Amounts => ({
    tokens: settled.tokens + reserved.tokens + inDoubt.tokens,
    costMicros: settled.costMicros + reserved.costMicros + inDoubt.costMicros,
  }),
  /** Books a call that begins. */
  reserve:
    (ceiling: Amounts): Booking =>
    ({ reserved, inFlight }) => ({ reserved: Amounts.add(reserved, ceiling), inFlight: inFlight + 1 }),
  /** Removes reservations of calls that are booked elsewhere from now on, or were never made. */
  unreserve:
    (ceilings: Amounts, calls: number): Booking =>
    ({ reserved, inFlight }) => ({
      reserved: Amounts.subtract(reserved, ceilings),
      inFlight: inFlight - calls,
    }),
  /** Books a call whose outcome is unknown. */
  doubt:
    (ceiling: Amounts): Booking =>
    ({ reserved, inFlight, inDoubt }) => ({
      reserved: Amounts.subtract(reserved, ceiling),
      inFlight: inFlight - 1,
      inDoubt: Amounts.add(inDoubt, ceiling),
    }),
  /** Books a call that has ended. */
  settle:
    (ceiling: Amounts, real: ActualCost): Booking =>
    (account) =>
      markExceeded({
        ...account,
        reserved: Amounts.subtract(account.reserved, ceiling),
        inFlight: account.inFlight - 1,
        settled: Amounts.add(account.settled, real.amounts),
        usage: Usage.add(account.usage, real.usage),
      }),
  /** Books the real cost of a call that was in doubt. */
  clear:
    (ceiling: Amounts, real: ActualCost): Booking =>
    (account) =>
      markExceeded({
        ...account,
        inDoubt: Amounts.subtract(account.inDoubt, ceiling),
        settled: Amounts.add(account.settled, real.amounts),
        usage: Usage.add(account.usage, real.usage),
      }),
  /** Returns the dimensions in which the limits are overspent. */
  overspent: (account: Account): Account["exceeded"] => {
    if (account.maxTokens === null && account.maxCostMicros === null) return none;
    const { tokens, costMicros } = Account.spend(account);
    const { maxTokens, maxCostMicros } = account;
    return [
      ...(maxTokens !== null && tokens > maxTokens ? (["tokens"] as const) : []),
      ...(maxCostMicros !== null && costMicros > maxCostMicros ? (["cost"] as const) : []),
    ];
  },
} as const;

const none: Account["exceeded"] = [];

/**
 * Marks exceeded dimensions. A mark stays even if other calls turn out cheaper than their ceilings, because reports
 * have no bound.
 */
function markExceeded(account: Account): Account {
  const overspent = Account.overspent(account);
  if (overspent.length === 0) return account;
  const fresh = overspent.filter((dimension) => !account.exceeded.includes(dimension));
  return fresh.length === 0 ? account : { ...account, exceeded: [...account.exceeded, ...fresh] };
}
