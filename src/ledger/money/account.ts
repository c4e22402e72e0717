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
import type { Ask } from "./ask.ts";

/** The money of a run or a tree: held and spent. Spend = settled + reserved + in doubt, and exceeds no limit but by reports. */
export interface Account {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  /** Real figures, as reported. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** The number of these calls. */
  readonly inFlight: number;
  /** Ceilings of calls whose outcome nobody knows. */
  readonly inDoubt: Amounts;
  readonly usage: Usage;
  /** A call for which the limits leave no room waits for a top-up. */
  readonly waitsForTopUp: boolean;
  /** Dimensions already warned about: each is warned of once. */
  readonly warned: readonly BudgetDimension[];
  /** Dimensions whose limit a reported usage has exceeded: nothing begins until a top-up covers it. */
  readonly exceeded: readonly ("tokens" | "cost")[];
}

/** One call that has begun and is not settled. A tool's reserves nothing: it is here to be noticed. */
export interface Attempt {
  readonly id: AttemptId;
  readonly step: StepId;
  readonly kind: "model" | "tool";
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** The most the model may say. 0 for a tool. */
  readonly outputTokens: number;
  /** What made that less than was asked for. */
  readonly shrunk: "tokens" | "cost" | null;
  readonly openedAt: number;
  /** The lease of the tenant's budget that it was reserved under. Absent: none. */
  readonly leasedAt?: number | undefined;
  /** When it is given up if some other call waits for its money. */
  readonly dueAt: number;
  /** Reserved for a call that had to wait and has not begun yet. */
  readonly isUnused?: true | undefined;
}

/** A model call that waits for money, in the line of its tree. */
export interface WaitingCall {
  readonly step: StepId;
  readonly ask: Ask;
  /** Since when it has waited. */
  readonly since: number;
  /** The limit in its way, as it was when the call was refused last. */
  readonly met: LimitMet;
  /** Whether no call in flight can make room for it. */
  readonly needsTopUp: boolean;
  /** Its place in the line. */
  readonly priority: Priority;
  readonly page: number;
}

/** The account of a live run, with what it has in flight. */
export interface RunAccount extends Account {
  readonly maxTurns: number | null;
  /** The run's own model calls, begun ones included. */
  readonly turns: number;
  /** Few, so lists: they change with every call, and a list is copied at once. */
  readonly attempts: readonly Attempt[];
  /** The steps that are not settled yet. */
  readonly steps: readonly OpenStep[];
  /** The calls that wait for money. */
  readonly waiting: readonly WaitingCall[];
}

/** How often a step was tried. */
export interface OpenStep {
  readonly step: StepId;
  /** Attempts that have begun. */
  readonly begun: number;
  /** Those of them that nobody settled: the third one holds the run, and a resumed run starts again from 0. */
  readonly lost: number;
}

/** A call that stays booked at its ceiling until somebody finds out what it cost. */
export interface Doubt {
  readonly run: RunId;
  readonly step: StepId;
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** The accounts it is booked on besides the tree's: root first, the run last. */
  readonly path: readonly RunId[];
  /** As in its attempt. */
  readonly leasedAt?: number | undefined;
}

/** What a call really came to. */
export interface Real {
  readonly usage: Usage;
  readonly amounts: Amounts;
}

/** A change of one account that leaves everything else as it is. */
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
  /** Everything that counts against the limits. */
  spend: ({ settled, reserved, inDoubt }: Account): Amounts =>
    Amounts.add(Amounts.add(settled, reserved), inDoubt),
  /** A call begins. */
  reserve:
    (ceiling: Amounts): Booking =>
    ({ reserved, inFlight }) => ({ reserved: Amounts.add(reserved, ceiling), inFlight: inFlight + 1 }),
  /** Calls in flight are booked elsewhere from now on, or were never made. */
  unreserve:
    (ceilings: Amounts, calls: number): Booking =>
    ({ reserved, inFlight }) => ({
      reserved: Amounts.subtract(reserved, ceilings),
      inFlight: inFlight - calls,
    }),
  /** Nobody knows how a call ended. */
  doubt:
    (ceiling: Amounts): Booking =>
    ({ reserved, inFlight, inDoubt }) => ({
      reserved: Amounts.subtract(reserved, ceiling),
      inFlight: inFlight - 1,
      inDoubt: Amounts.add(inDoubt, ceiling),
    }),
  /** A call has ended. */
  settle:
    (ceiling: Amounts, real: Real): Booking =>
    (account) =>
      markExceeded({
        ...account,
        reserved: Amounts.subtract(account.reserved, ceiling),
        inFlight: account.inFlight - 1,
        settled: Amounts.add(account.settled, real.amounts),
        usage: Usage.add(account.usage, real.usage),
      }),
  /** Somebody found out how a call ended. */
  clear:
    (ceiling: Amounts, real: Real): Booking =>
    (account) =>
      markExceeded({
        ...account,
        inDoubt: Amounts.subtract(account.inDoubt, ceiling),
        settled: Amounts.add(account.settled, real.amounts),
        usage: Usage.add(account.usage, real.usage),
      }),
  /** The dimensions in which more is spent than the limits allow. */
  overspent: (account: Account): Account["exceeded"] => {
    const { tokens, costMicros } = Account.spend(account);
    const { maxTokens, maxCostMicros } = account;
    return [
      ...(maxTokens !== null && tokens > maxTokens ? (["tokens"] as const) : []),
      ...(maxCostMicros !== null && costMicros > maxCostMicros ? (["cost"] as const) : []),
    ];
  },
} as const;

/** A mark stays, even if other calls turn out cheaper than their ceilings: what was reported cannot be bounded. */
function markExceeded(account: Account): Account {
  const fresh = Account.overspent(account).filter((dimension) => !account.exceeded.includes(dimension));
  return fresh.length === 0 ? account : { ...account, exceeded: [...account.exceeded, ...fresh] };
}
