import type {
  AttemptId,
  BudgetDimension,
  CallDenialReason,
  DenialReason,
  Epoch,
  ExecutionBudget,
  LimitMet,
  Micros,
  Priority,
  RunId,
  SpawnBudget,
  StepId,
  Usage,
} from "#kernel";
import type { Amounts } from "./money/amounts.ts";
import type { Ask } from "./money/ask.ts";
import type { Block, LedgerState, Phase } from "./state.ts";

/** What a command comes to. Records that did not change keep their identity, the state included. */
export interface Decided<Decision> {
  readonly state: LedgerState;
  readonly decision: Decision;
  /** In the order they came about. */
  readonly effects: readonly LedgerEffect[];
}

/** Opens a tree with its root run, which takes the first slot. */
export interface Open {
  readonly root: RunId;
  readonly priority: Priority;
  readonly spawn: SpawnBudget;
  /** Of the whole tree. */
  readonly treeBudget: ExecutionBudget;
  /** Of the root run. */
  readonly rootBudget: ExecutionBudget;
  /** Null: it has no tenant. */
  readonly block: Block | null;
  /** Default 60,000. */
  readonly ageingMs?: number | undefined;
  readonly at: number;
}

/** A command about one run that says no more. */
export interface RunAt {
  readonly run: RunId;
  readonly at: number;
}

/** Where a run stands after the command. */
export interface Standing {
  readonly phase: Phase | "ended";
}

/** Asks for a slot for a new run. */
export interface Admit {
  readonly run: RunId;
  readonly parent: RunId;
  readonly priority: Priority;
  /** Null: no cap of its own, it draws on its parent. */
  readonly budget: ExecutionBudget | null;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly at: number;
}

export type Admission =
  | { readonly kind: "granted" }
  /** In line; `victim` is the run that was told to yield for it. */
  | { readonly kind: "queued"; readonly victim: RunId | null }
  | ({ readonly kind: "denied"; readonly reason: DenialReason } & AdmissionLimit);

/** The limit that a new run meets: the headcount, or one that is exceeded. */
type AdmissionLimit =
  | LimitMet
  | { readonly dimension: "agents"; readonly limit: number; readonly used: number };

/** A run has nothing to do but wait. Keeps its slot. */
export interface Wait {
  readonly run: RunId;
  /** The runs it waits for; null where something else can wake it, too. */
  readonly on: readonly RunId[] | null;
  readonly at: number;
}

/** Another rank for a run. */
export interface Reprioritize {
  readonly run: RunId;
  readonly priority: Priority;
  readonly at: number;
}

/** Nothing begins any more in this run and everything below it. */
export interface Cancel {
  readonly run: RunId;
  /** Runs that are cancelled with it. Default none. */
  readonly also?: readonly RunId[] | undefined;
  readonly reason: string;
  readonly at: number;
}

/** A run gets another boss, one further up: its former one ends without it. */
export interface Adopt {
  readonly run: RunId;
  /** Null: nobody; the root ends. */
  readonly parent: RunId | null;
}

/** What a run that ends leaves behind, everything it hired included. */
export interface Closing {
  readonly usage: Usage;
  readonly settled: Amounts;
  readonly inDoubt: Amounts;
}

/** The gate of every model call and of every tool that is not idempotent. */
export interface Begin {
  readonly run: RunId;
  readonly step: StepId;
  readonly attempt: AttemptId;
  /** The execution that asks. */
  readonly epoch: Epoch;
  /** Null: a tool call. */
  readonly ask: Ask | null;
  /** Whether a tool call goes on although an earlier attempt is open: after any, after none, or after this one alone. */
  readonly rerun: boolean | AttemptId;
  /** The tenant was asked and has no more to lend: treat the block as a limit. */
  readonly blockIsFinal: boolean;
  /** The time that the call may take, and then to be settled. Default: 0. */
  readonly timeoutMs?: number | undefined;
  /**
   * Set if a call that does not fit may wait for calls in flight: since when it has waited, null if it has not. Absent: it
   * is decided at once.
   */
  readonly waitsSince?: number | null | undefined;
  readonly at: number;
}

export type Gate =
  | {
      readonly kind: "granted";
      /** The most the model may say. 0 for a tool. */
      readonly outputTokens: number;
      readonly ceiling: Amounts;
      /** What made it less than was asked for: an answer cut at this length must not be acted on. */
      readonly shrunk: "tokens" | "cost" | null;
      /** This try included: 1 on the first. */
      readonly attempts: number;
    }
  | {
      readonly kind: "refused";
      readonly why: "cancelled" | "deadline" | "paused" | "superseded" | "ended";
      /** Of the cancel. */
      readonly reason: string | null;
    }
  | ({ readonly kind: "denied"; readonly reason: CallDenialReason } & LimitMet)
  /** The call waits in the tree. Its run is told when to ask again. */
  | ({
      readonly kind: "waits";
      readonly since: number;
      /** Calls in flight that hold `reserved`. */
      readonly inFlight: number;
      /** Whether no call in flight can make room: it waits for a top-up. */
      readonly needsTopUp: boolean;
      /** Whether it waited already when it asked. */
      readonly again: boolean;
    } & LimitMet)
  /** A tool call of this step has begun before and nobody knows how it ended. */
  | { readonly kind: "earlier-attempt-open"; readonly attempt: AttemptId }
  /** The tree must borrow at least this from its tenant, then ask again. */
  | { readonly kind: "needs-block"; readonly tokens: number; readonly costMicros: Micros };

/** What became of a call. */
export interface Settle {
  readonly run: RunId;
  readonly attempt: AttemptId;
  /** Null: unknown, the attempt stays booked at its ceiling. */
  readonly usage: Usage | null;
  /** The step goes on with another attempt: its count of attempts and its turn stay. Default false. */
  readonly again?: boolean | undefined;
  readonly at: number;
}

/** What a settlement booked. */
export interface Booked extends Amounts {
  /** At its ceiling, because nobody knows better. */
  readonly inDoubt: boolean;
}

/** What a lost attempt really cost, found out later. */
export interface Reconcile {
  readonly attempt: AttemptId;
  readonly usage: Usage;
}

/** What a reconciliation booked, and for whom. */
export interface Reconciled extends Booked {
  readonly run: RunId;
}

/** More of everything. `run` null: the tree. Absent dimensions stay. */
export interface TopUp {
  readonly run: RunId | null;
  readonly tokens: number;
  readonly costMicros: Micros;
  readonly turns: number;
}

/** The used part of a lease that is closed, or shrunk to that part. */
export interface Closed {
  readonly leasedAt: number;
  readonly used: Amounts;
}

/** Decides the waiting calls again: money was settled, or a run can go on. */
export interface DecideWaiting {
  /** When a reservation that no call has taken is given up. */
  readonly takeBy: number;
  readonly at: number;
}

/** A waiting call whose run must ask again: its money is reserved, or nothing in flight can make room for it. */
export interface WokenCall {
  readonly run: RunId;
  readonly step: StepId;
}

/** Gives up every reservation that is due. */
export interface Expire {
  readonly at: number;
}

/** What the host must do because of a decision. */
export type LedgerEffect =
  /** A queued run got its slot: start it. */
  | { readonly kind: "launch"; readonly run: RunId }
  /** A parked run got its slot back: let it go on. */
  | { readonly kind: "resume"; readonly run: RunId }
  /** Tell a run to yield. It keeps its slot until it has. */
  | { readonly kind: "tell"; readonly run: RunId; readonly cause: "preempted" | "held" }
  /** A run that was told to yield need not any more. */
  | { readonly kind: "spare"; readonly run: RunId }
  /** A run has lost its slot just now. */
  | { readonly kind: "parked"; readonly run: RunId; readonly cause: "preempted" | "held" }
  /** A call that was reserved under a closed lease came to more, or less, than the tenant was told. */
  | ({ readonly kind: "correct"; readonly leasedAt: number } & Amounts)
  /** A queued run will never get a slot. */
  | { readonly kind: "drop"; readonly run: RunId; readonly reason: DenialReason }
  /** 80 % of a limit are used. `run` null: the tree's. */
  | {
      readonly kind: "warn";
      readonly run: RunId | null;
      readonly dimension: BudgetDimension;
      readonly limit: number;
      readonly used: number;
    };
