import type {
  AttemptId,
  BudgetDimension,
  DenialReason,
  EventPayloads,
  ExecutionBudget,
  Usage,
} from "#kernel";
import type { Amounts } from "#ledger";

/** What may be spent by all calls on an account together. An absent limit is none; 0 allows nothing. */
export type SpendBudget = Pick<ExecutionBudget, "maxTokens" | "maxCostUsd" | "maxTurns">;

/** What happened to the money of a call. Every booking is an event, so that the events add up to the spend. */
export type GovernEvent =
  | {
      readonly [Type in "budget.reserved" | "budget.settled"]: { readonly type: Type } & EventPayloads[Type] &
        CallOf;
    }["budget.reserved" | "budget.settled"]
  | DeniedEvent
  | WarningEvent;

interface CallOf {
  /** The name of the account. */
  readonly account: string;
  readonly attempt: AttemptId;
  readonly model: string;
}

/** A call was refused, by this account or by another one that it would have been booked on. */
interface DeniedEvent extends Omit<CallOf, "attempt"> {
  readonly type: "budget.denied";
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
  readonly reason: DenialReason | null;
}

interface WarningEvent extends Pick<CallOf, "account"> {
  readonly type: "budget.warning";
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
}

/** How an account is opened. */
export interface AccountOptions {
  /** Default: no limit. Counted all the same. */
  readonly budget?: SpendBudget | undefined;
  /** What events call it. Default: `account`. */
  readonly name?: string | undefined;
  /** Told of everything that is booked or refused, in order. What it throws is nobody's: an uncaught exception. */
  readonly onEvent?: ((event: GovernEvent) => void) | undefined;
}

/** What has been spent. Tokens, and micro-dollars; together never over a limit. */
export interface Spend {
  /** As reported. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** Ceilings of calls whose outcome nobody knows. */
  readonly inDoubt: Amounts;
  /** Calls, those in flight included. */
  readonly turns: number;
}

/** A call that stays booked at its ceiling until somebody finds out what it cost. */
export interface DoubtfulCall {
  readonly attempt: AttemptId;
  readonly model: string;
  readonly ceiling: Amounts;
}

/** Where the calls of a model, or of everything inside `govern.run`, are booked. */
export interface SpendAccount {
  readonly name: string;
  readonly budget: SpendBudget;
  readonly spend: Spend;
  readonly doubts: readonly DoubtfulCall[];
  /** What a call in doubt really used, found out later. False: it is not in doubt, or these figures cannot be. */
  reconcile(attempt: AttemptId, usage: Usage): boolean;
}
