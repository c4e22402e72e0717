import type {
  AttemptId,
  BudgetDimension,
  DenialReason,
  EventPayloads,
  ExecutionBudget,
  Usage,
} from "#kernel";
import type { Amounts } from "#ledger";

/** Limits of all calls on an account together. Absent: no limit. 0 allows nothing. */
export type SpendBudget = Pick<ExecutionBudget, "maxTokens" | "maxCostUsd" | "maxTurns">;

/** A booking of a call. Every booking is an event, so the events add up to the spend. */
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

/** Options of an account. */
export interface AccountOptions {
  /** Default: no limit. Counted all the same. */
  readonly budget?: SpendBudget | undefined;
  /** Name of the account in events. Default: `account`. */
  readonly name?: string | undefined;
  /** Called with each booking and each refusal, in order. If it throws, the exception is uncaught. */
  readonly onEvent?: ((event: GovernEvent) => void) | undefined;
}

/** Tokens and micro-dollars spent; together never over a limit. */
export interface Spend {
  /** As reported by providers. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** Ceilings of calls with unknown outcome. */
  readonly inDoubt: Amounts;
  /** Number of calls, those in flight included. */
  readonly turns: number;
}

/** A call booked at its ceiling until its real cost is reported. */
export interface DoubtfulCall {
  readonly attempt: AttemptId;
  readonly model: string;
  readonly ceiling: Amounts;
}

/** The account on which the calls of a model, or of everything inside `govern.run`, are booked. */
export interface SpendAccount {
  readonly name: string;
  readonly budget: SpendBudget;
  readonly spend: Spend;
  readonly doubts: readonly DoubtfulCall[];
  /** Settles a call in doubt with its real usage. Returns false if it is not in doubt or the usage is impossible. */
  reconcile(attempt: AttemptId, usage: Usage): boolean;
}
