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
import type { ReservationRequest } from "./money/reservation-request.ts";
import type { TreeLease, LedgerState, Phase } from "./state.ts";

/** The outcome of a command. Records that did not change keep their identity, the state included. */
export interface DecisionResult<Decision> {
  readonly state: LedgerState;
  readonly decision: Decision;
  /** In the order of their causes. */
  readonly effects: readonly LedgerEffect[];
}

/** Opens a tree with its root run, which takes the first slot. */
export interface Open {
  readonly root: RunId;
  readonly priority: Priority;
  readonly spawn: SpawnBudget;
  /** Budget of the whole tree. */
  readonly treeBudget: ExecutionBudget;
  /** Budget of the root run. */
  readonly rootBudget: ExecutionBudget;
  /** Null: the tree has no tenant. */
  readonly lease: TreeLease | null;
  /** Default: 60,000. */
  readonly ageingMs?: number | undefined;
  readonly at: number;
}

/** A command about one run without further arguments. */
export interface RunAt {
  readonly run: RunId;
  readonly at: number;
}

/** The slot state of a run after the command. */
export interface SlotState {
  readonly phase: Phase | "ended";
}

/** Requests a slot for a new run. */
export interface Admit {
  readonly run: RunId;
  readonly parent: RunId;
  readonly priority: Priority;
  /** Null: no limits of its own. It draws on its parent. */
  readonly budget: ExecutionBudget | null;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly at: number;
}

export type Admission =
  | { readonly kind: "granted" }
  /** The run is queued. `victim` is the run that must yield for it. Null: none. */
  | { readonly kind: "queued"; readonly victim: RunId | null }
  | ({ readonly kind: "denied"; readonly reason: DenialReason } & AdmissionLimit);

/** The limit that a new run meets: the headcount, or an exceeded limit. */
type AdmissionLimit =
  | LimitMet
  | { readonly dimension: "agents"; readonly limit: number; readonly used: number };

/** Marks a run as waiting. It keeps its slot. */
export interface Wait {
  readonly run: RunId;
  /** The runs it waits for. Null if something else can wake it, too. */
  readonly on: readonly RunId[] | null;
  /** Whether a person must decide something for it, or a call of it waits for money. Default: false. */
  readonly isBlocked?: boolean | undefined;
  readonly at: number;
}

/** Changes the priority of a run. */
export interface Reprioritize {
  readonly run: RunId;
  readonly priority: Priority;
  readonly at: number;
}

/** Cancels a run and its descendants: nothing more begins in them. */
export interface Cancel {
  readonly run: RunId;
  /** Further runs to cancel. Default: none. */
  readonly also?: readonly RunId[] | undefined;
  readonly reason: string;
  readonly at: number;
}

/** Moves a run to an ancestor of its parent, because its parent ends without it. */
export interface Adopt {
  readonly run: RunId;
  /** The new parent. Null: none, because the root ends. */
  readonly parent: RunId | null;
  readonly at: number;
}

/** The totals of an ended run, including its descendants. */
export interface ReleaseResult {
  readonly usage: Usage;
  readonly settled: Amounts;
  readonly inDoubt: Amounts;
}

/** Passes the gate of a model call, or of a tool call that is not idempotent. */
export interface Begin {
  readonly run: RunId;
  readonly step: StepId;
  readonly attempt: AttemptId;
  /** The execution that makes the call. */
  readonly epoch: Epoch;
  /** Null: a tool call. */
  readonly ask: ReservationRequest | null;
  /**
   * Whether a tool call may proceed although an earlier attempt is open: after any, after none, or only after this
   * attempt.
   */
  readonly rerun: boolean | AttemptId;
  /** Whether the tenant was asked and has no more to lend. The lease then counts as a limit. */
  readonly leaseIsFinal: boolean;
  /** Time for the call and its settlement. Default: 0. */
  readonly timeoutMs?: number | undefined;
  /**
   * Set if a call that does not fit may wait for calls in flight: the start of its wait, or null if it has not waited.
   * Absent: it is decided immediately.
   */
  readonly waitsSince?: number | null | undefined;
  readonly at: number;
}

export type Gate =
  | {
      readonly kind: "granted";
      /** Maximum output tokens. 0 for a tool. */
      readonly outputTokens: number;
      readonly ceiling: Amounts;
      /** The dimension that reduced the output. An answer cut at this length must not be acted on. */
      readonly shrunk: "tokens" | "cost" | null;
      /** Number of attempts of the step, including this one. */
      readonly attempts: number;
    }
  | {
      readonly kind: "refused";
      readonly why: "cancelled" | "deadline" | "paused" | "superseded" | "ended";
      /** The reason of the cancel. */
      readonly reason: string | null;
    }
  | ({ readonly kind: "denied"; readonly reason: CallDenialReason } & LimitMet)
  /** The call waits in the tree. The tree wakes its run when it should ask again. */
  | ({
      readonly kind: "waits";
      readonly since: number;
      /** Calls in flight that hold `reserved`. */
      readonly inFlight: number;
      /** Whether no call in flight can free enough: the call waits for a top-up. */
      readonly needsTopUp: boolean;
      /** Whether the call was already waiting. */
      readonly again: boolean;
    } & LimitMet)
  /** An earlier tool call of this step has begun, and its outcome is unknown. */
  | { readonly kind: "earlier-attempt-open"; readonly attempt: AttemptId }
  /** The tree must borrow at least this from its tenant, then ask again. */
  | { readonly kind: "needs-lease"; readonly tokens: number; readonly costMicros: Micros };

/** Settles a call. */
export interface Settle {
  readonly run: RunId;
  readonly attempt: AttemptId;
  /** Null: unknown. The attempt stays booked at its ceiling. */
  readonly usage: Usage | null;
  /** Whether the step continues with another attempt. Its attempt count and its turn stay. Default: false. */
  readonly again?: boolean | undefined;
  readonly at: number;
}

/** The amounts that a settlement booked. */
export interface BookedAmounts extends Amounts {
  /** Whether the call is booked at its ceiling because its usage is unknown. */
  readonly inDoubt: boolean;
}

/** Books the real cost of an attempt in doubt, once it is known. */
export interface Reconcile {
  readonly attempt: AttemptId;
  readonly usage: Usage;
}

/** The amounts and the run of a reconciliation. */
export interface ReconciledAmounts extends BookedAmounts {
  readonly run: RunId;
}

/** Raises limits. `run` null: the tree's. Absent dimensions stay. */
export interface TopUp {
  readonly run: RunId | null;
  readonly tokens: number;
  readonly costMicros: Micros;
  readonly turns: number;
}

/** The used part of a lease that is closed, or reduced to that part. */
export interface ClosedLease {
  readonly leasedAt: number;
  readonly used: Amounts;
}

/** Decides the waiting calls again, because money was settled or a run can continue. */
export interface DecideWaiting {
  /** Time at which a reservation that no call has taken is released. */
  readonly takeBy: number;
  readonly at: number;
}

/** A waiting call whose run must ask again: its money is reserved, or nothing in flight can free enough. */
export interface WokenCall {
  readonly run: RunId;
  readonly step: StepId;
}

/** Releases every reservation that is due. */
export interface Expire {
  readonly at: number;
}

/** An effect that the tree must carry out after a decision. */
export type LedgerEffect =
  /** A queued run got its slot: start it. */
  | { readonly kind: "launch"; readonly run: RunId }
  /** A parked run got its slot back: resume it. */
  | { readonly kind: "resume"; readonly run: RunId }
  /** Asks a run to yield. The run keeps its slot until it has yielded. */
  | { readonly kind: "tell"; readonly run: RunId; readonly cause: "preempted" | "held" }
  /** A run that stood still can make progress again, and asks that are late have waited for that. */
  | { readonly kind: "goesOn"; readonly run: RunId }
  /** Nothing in flight can free enough for a waiting call any more: it waits for a top-up. */
  | ({ readonly kind: "needsTopUp"; readonly run: RunId; readonly step: StepId } & LimitMet)
  /** A run that was requested to yield may continue. */
  | { readonly kind: "spare"; readonly run: RunId }
  /** A run has just lost its slot. */
  | { readonly kind: "parked"; readonly run: RunId; readonly cause: "preempted" | "held" }
  /** A call under a closed lease cost more, or less, than the tenant has booked. */
  | ({ readonly kind: "correct"; readonly leasedAt: number } & Amounts)
  /** A queued run will never get a slot. */
  | { readonly kind: "drop"; readonly run: RunId; readonly reason: DenialReason }
  /** 80 % of a limit is used. `run` null: the tree's. */
  | {
      readonly kind: "warn";
      readonly run: RunId | null;
      readonly dimension: BudgetDimension;
      readonly limit: number;
      readonly used: number;
    };
