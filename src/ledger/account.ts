import {
  type AttemptId,
  type BudgetDimension,
  type ExecutionBudget,
  type Micros,
  Money,
  type Price,
  type RunId,
  type StepId,
  Usage,
} from "#kernel";
import { Amounts } from "./amounts.ts";

/** Where money is held and spent. Spend = settled + reserved + in doubt, and never exceeds a limit. */
export interface Account {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCost: Micros | null;
  /** Real figures, as reported. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** Ceilings of calls whose outcome nobody knows. */
  readonly inDoubt: Amounts;
  readonly usage: Usage;
  /** Dimensions already warned about: each is warned of once. */
  readonly warned: readonly BudgetDimension[];
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
  of: ({ maxTokens, maxCostUsd }: ExecutionBudget): Account => ({
    maxTokens: maxTokens ?? null,
    maxCost: maxCostUsd === undefined ? null : Money.cap(maxCostUsd),
    settled: Amounts.none,
    reserved: Amounts.none,
    inDoubt: Amounts.none,
    usage: Usage.none,
    warned: [],
  }),
  ofRun: (budget: ExecutionBudget): RunAccount => ({
    ...Account.of(budget),
    maxTurns: budget.maxTurns ?? null,
    turns: 0,
    attempts: [],
    steps: [],
  }),
  /** Everything that counts against the limits. */
  spend: ({ settled, reserved, inDoubt }: Account): Amounts =>
    Amounts.add(Amounts.add(settled, reserved), inDoubt),
  /** A call begins. */
  reserve:
    (ceiling: Amounts): Booking =>
    ({ reserved }) => ({ reserved: Amounts.add(reserved, ceiling) }),
  /** A call in flight is somebody else's now. */
  unreserve:
    (ceiling: Amounts): Booking =>
    ({ reserved }) => ({ reserved: Amounts.subtract(reserved, ceiling) }),
  /** Nobody knows how a call ended. */
  doubt:
    (ceiling: Amounts): Booking =>
    ({ reserved, inDoubt }) => ({
      reserved: Amounts.subtract(reserved, ceiling),
      inDoubt: Amounts.add(inDoubt, ceiling),
    }),
  /** A call has ended. */
  settle:
    (ceiling: Amounts, real: Real): Booking =>
    ({ reserved, settled, usage }) => ({
      reserved: Amounts.subtract(reserved, ceiling),
      settled: Amounts.add(settled, real.amounts),
      usage: Usage.add(usage, real.usage),
    }),
  /** Somebody found out how a call ended. */
  clear:
    (ceiling: Amounts, real: Real): Booking =>
    ({ inDoubt, settled, usage }) => ({
      inDoubt: Amounts.subtract(inDoubt, ceiling),
      settled: Amounts.add(settled, real.amounts),
      usage: Usage.add(usage, real.usage),
    }),
} as const;
