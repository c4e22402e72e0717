import type {
  Diagnostic,
  AgentId,
  ApprovalId,
  BudgetDimension,
  CallDenialReason,
  DenialReason,
  EndStatus,
  ErrorData,
  LimitMet,
  Micros,
  Priority,
  RunId,
  RunLimits,
  RunStatus,
  StopReason,
  TreeId,
  TreeLimits,
  Usage,
} from "#kernel";

/** The current work of a run, or the reason for its wait, as far as events report it. */
export type Activity =
  | { readonly kind: "starting"; readonly since: number }
  | { readonly kind: "queued"; readonly since: number; readonly victim: RunId | null }
  | { readonly kind: "model"; readonly since: number; readonly model: string }
  | {
      readonly kind: "tool";
      readonly since: number;
      readonly tools: readonly string[];
      readonly progress: string | null;
    }
  | { readonly kind: "children"; readonly since: number; readonly agents: readonly string[] }
  | {
      readonly kind: "approval";
      readonly since: number;
      readonly tool: string;
      readonly id: ApprovalId;
      readonly why: string;
    }
  /** A model call waits for money. Amounts as they were when it began to wait. */
  | ({ readonly kind: "budget"; readonly since: number; readonly inFlight: number } & LimitMet)
  | { readonly kind: "retry"; readonly since: number; readonly delayMs: number; readonly error: ErrorData }
  | {
      readonly kind: "paused";
      readonly since: number;
      readonly cause: "preempted" | "held";
      readonly by: RunId | null;
      /** The reason for which the tree holds the run. Null if a user paused it. */
      readonly reason: string | null;
    }
  | { readonly kind: "cancelling"; readonly since: number; readonly reason: string }
  | { readonly kind: "between"; readonly since: number }
  | { readonly kind: "ended"; readonly since: number };

/** The name of an activity that lasts long enough to be drawn. */
export type LaneKind = Exclude<Activity["kind"], "between" | "ended">;

/**
 * A stretch of one activity. Times are milliseconds since the tree started; `to` is null while it lasts. Time between two
 * spans is time between two steps.
 */
export type LaneSpan = readonly [kind: LaneKind, from: number, to: number | null];

/** A call that was refused, and the limit that refused it. */
export interface Denial extends LimitMet {
  readonly reason: CallDenialReason;
}

/** A limit of which 80 % is used. */
export interface LimitWarning {
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
}

/** A child that was not admitted. */
export interface RefusedSpawn {
  readonly agent: string;
  readonly reason: DenialReason;
}

/** A message that no run will read. */
export interface DeadLetter {
  readonly reason: string;
  readonly attempts: number;
}

/** The end of a run. */
export interface AgentEnd {
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly durationMs: number;
  readonly usage: Usage;
  readonly costMicros: Micros;
  readonly error: ErrorData | null;
  /** The error of its code; null where there is none, or it may not be read. */
  readonly diagnostic: Diagnostic | null;
}

/** A call that waits for approval. */
interface AskView {
  readonly id: ApprovalId;
  readonly runId: RunId;
  readonly agent: AgentId;
  readonly tool: string;
  readonly why: string;
  readonly since: number;
}

/** One agent of a tree, which is one run, for display. A view is immutable: changes create a new one. */
export interface AgentView {
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agent: AgentId;
  readonly priority: Priority;
  readonly status: RunStatus;
  readonly activity: Activity;
  readonly startedAt: number;
  readonly end: AgentEnd | null;
  /** Limits of its account. Null if unknown. */
  readonly limits: RunLimits | null;
  /** Version of its agent. Null if unknown. */
  readonly version: string | null;
  /** Its own model calls, without those of its descendants. */
  readonly own: {
    readonly calls: number;
    readonly usage: Usage;
    readonly costMicros: Micros;
    readonly inDoubtMicros: Micros;
  };
  /** Money of the run and all below it: settled and in doubt. */
  readonly costMicros: Micros;
  /** The part of `costMicros` for calls with unknown outcome. */
  readonly inDoubtMicros: Micros;
  /** The ceilings of calls in flight, on top of it. */
  readonly reservedMicros: Micros;
  readonly tokens: number;
  /** Number of runs in its subtree, itself included; and how many of them are live. */
  readonly agents: number;
  readonly liveAgents: number;
  /** Calls waiting for approval, its own and those of its descendants. */
  readonly asks: readonly AskView[];
  readonly cancelReason: string | null;
  /** The last call that was refused. */
  readonly denial: Denial | null;
  readonly warnings: readonly LimitWarning[];
  readonly guardrail: { readonly guardrail: string; readonly reason: string } | null;
  readonly refusedSpawns: readonly RefusedSpawn[];
  /** Messages to it that were given up. */
  readonly deadLetters: readonly DeadLetter[];
  /** The errors of its tools' code, as far as they may be read. */
  readonly brokenTools: readonly Diagnostic[];
  /** Calls that started and whose outcome is unknown. */
  readonly lostCalls: number;
  /** At most 200 spans, oldest first: the older half has less detail. */
  readonly lane: readonly LaneSpan[];
  readonly children: readonly AgentView[];
}

/** Figures of a whole tree. */
export interface TreeCounts {
  readonly agents: number;
  readonly live: number;
  readonly asks: number;
  /** Model calls that have ended. */
  readonly calls: number;
  readonly byStatus: Readonly<Record<RunStatus, number>>;
}

/** A tree as screens show it. */
export interface TreeView {
  readonly treeId: TreeId;
  /** The last event that it takes into account. */
  readonly seq: number;
  /** The time of that event. */
  readonly at: number;
  /** The time of the first event: lanes begin here. */
  readonly startedAt: number;
  /** Limits shared by all runs. Null if unknown. */
  readonly limits: TreeLimits | null;
  readonly root: AgentView;
  readonly counts: TreeCounts;
}
