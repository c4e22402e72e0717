import type { Diagnostic } from "./diagnostic.ts";
import type { BudgetDimension, CallDenialReason, DenialReason, LimitAccount } from "./denial.ts";
import type { ErrorData } from "./errors.ts";
import type {
  AgentId,
  ApprovalId,
  AttemptId,
  EntryId,
  EventId,
  MessageId,
  RunId,
  StepId,
  TopicId,
  TreeId,
} from "./ids.ts";
import type { Json } from "./json.ts";
import type { Micros } from "./money.ts";
import type { Usage } from "./usage.ts";
import type { EndStatus, StopReason } from "./run-status.ts";
import type { Priority } from "./supervision.ts";

/** A limit that a call meets. Its amounts are tokens, micro-dollars or calls, as they were then. */
export interface LimitMet {
  readonly dimension: BudgetDimension;
  readonly account: LimitAccount;
  /** The run whose limit it is. Null: the tree's, the tenant's or the user's. */
  readonly owner: RunId | null;
  readonly limit: number;
  /** Settled, reserved and in doubt. */
  readonly used: number;
  /** The part of `used` that calls in flight hold. For a tenant or a user: the part that other trees hold. */
  readonly reserved: number;
  /**
   * The part of `used` for calls whose outcome is unknown. 0 for a tenant or a user, because leases do not report it.
   */
  readonly inDoubt: number;
}

/** The limits of a run's account. Null: none. */
export interface RunLimits {
  readonly maxCostMicros: Micros | null;
  readonly maxTokens: number | null;
  readonly maxTurns: number | null;
  readonly deadlineAt: number | null;
}

/** The limits that all runs of a tree share. Null: none. */
export interface TreeLimits {
  readonly maxCostMicros: Micros | null;
  readonly maxTokens: number | null;
  /** Maximum number of concurrently live agents. */
  readonly maxAgents: number;
}

/**
 * The fields of each event in addition to {@link EventBase}. The list is closed: hooks, stream, log and dashboard share
 * it.
 */
export interface EventPayloads {
  readonly "run.start": {
    readonly priority: Priority;
    readonly parentRunId: RunId | null;
    /** The same in every run of a tree. */
    readonly traceId: string;
    /** The `traceparent` that a root run was started with. */
    readonly caller?: string;
    /** Set if the permissions of the run allow every tool call. */
    readonly allowsAll?: true;
    /** At the start: a top-up raises them. Absent in events of earlier releases. */
    readonly limits?: RunLimits;
    /** The limits that all runs share. Only on a root. */
    readonly treeLimits?: TreeLimits;
    /** The version of the agent. */
    readonly version?: string;
  };
  readonly "run.end": {
    readonly status: EndStatus;
    readonly stopReason: StopReason;
    readonly durationMs: number;
    readonly usage: Usage;
    readonly costMicros: Micros;
    readonly error?: ErrorData;
    /** For a run whose code threw. */
    readonly diagnostic?: Diagnostic | undefined;
  };
  readonly "cycle.start": { readonly step: number };
  readonly "cycle.end": { readonly step: number };
  readonly "model.start": { readonly model: string; readonly step: StepId };
  readonly "model.end": {
    readonly model: string;
    readonly usage: Usage;
    readonly durationMs: number;
    readonly error?: ErrorData;
  };
  readonly "tool.start": { readonly tool: string; readonly callId: string; readonly step: StepId };
  readonly "tool.end": {
    readonly tool: string;
    readonly callId: string;
    readonly status: "ok" | "error" | "unknown";
    readonly durationMs: number;
    /** For a tool whose code threw. */
    readonly diagnostic?: Diagnostic | undefined;
  };
  readonly "guardrail.trip": {
    readonly guardrail: string;
    readonly reason: string;
    /** The decision. `allow` also means: the guardrail failed on a safe tool, or a rule made an exception. */
    readonly decision: "allow" | "warn" | "block" | "halt";
  };
  readonly "handoff.made": { readonly to: AgentId; readonly toRun: RunId };
  readonly "flow.start": { readonly flow: string };
  readonly "flow.end": { readonly flow: string };
  readonly "turn.start": { readonly turn: number };
  readonly "turn.end": { readonly turn: number };
  readonly "turn.saved": { readonly leaf: EntryId };
  readonly "session.settled": { readonly leaf: EntryId | null };
  readonly "retry.start": { readonly retry: number; readonly delayMs: number; readonly error: ErrorData };
  readonly "retry.end": { readonly retry: number; readonly success: boolean };
  readonly "compaction.start": { readonly contextTokens: number };
  readonly "compaction.end": { readonly contextTokens: number; readonly entryId: EntryId | null };
  readonly "spawn.admitted": {
    readonly child: RunId;
    readonly childAgent: AgentId;
    readonly priority: Priority;
  };
  readonly "spawn.queued": {
    readonly child: RunId;
    readonly childAgent: AgentId;
    readonly victim: RunId | null;
  };
  readonly "spawn.denied": { readonly childAgent: AgentId; readonly reason: DenialReason };
  readonly "run.paused": {
    readonly cause: "preempted" | "held";
    /** The reason why the tree itself holds the run, for people. */
    readonly reason?: string | undefined;
  };
  readonly "run.resumed": { readonly cause: "slot" | "spared" | "released" };
  readonly "run.reprioritized": { readonly from: Priority; readonly to: Priority };
  readonly "run.cancelling": { readonly reason: string };
  readonly "budget.warning": {
    readonly dimension: BudgetDimension;
    readonly limit: number;
    readonly used: number;
  };
  readonly "budget.reserved": { readonly tokens: number; readonly costMicros: Micros };
  readonly "budget.settled": {
    readonly tokens: number;
    readonly costMicros: Micros;
    readonly inDoubt: boolean;
    /** Set if a call in doubt was settled later by reconciliation. */
    readonly reconciled?: true;
  };
  readonly "budget.denied": LimitMet & { readonly reason: CallDenialReason };
  /**
   * A model call does not fit while other calls are in flight, so it waits. The wait ends with the next event of the
   * same step.
   */
  readonly "budget.waiting": LimitMet & {
    /** The number of calls that hold `reserved`. */
    readonly inFlight: number;
    readonly step: StepId;
  };
  readonly "budget.topped-up": {
    readonly tokens: number;
    readonly costMicros: Micros;
    readonly turns: number;
  };
  readonly "permission.denied": { readonly tool: string; readonly callId: string; readonly reason: string };
  readonly "approval.requested": {
    readonly approvalId: ApprovalId;
    /** Set if it is a question that needs an answer. */
    readonly asks?: true | undefined;
    readonly tool: string;
    readonly why: string;
    /** The model's id for the call. */
    readonly callId?: string | undefined;
  };
  readonly "approval.decided": {
    readonly approvalId: ApprovalId;
    readonly decision: "approved" | "denied" | "edited" | "expired";
    readonly by: string;
  };
  readonly "message.sent": { readonly messageId: MessageId; readonly to: RunId };
  readonly "message.dead-lettered": {
    readonly messageId: MessageId;
    readonly reason: string;
    readonly attempts: number;
  };
  readonly "progress.emitted": { readonly topic: TopicId; readonly data: Json };
  readonly "extension.error": { readonly extension: string; readonly error: ErrorData };
  /** An event of agent code with a custom name. */
  readonly custom: { readonly name: string; readonly data: Json };
}

/** The name of an event: `noun.verb`, in pairs where something lasts. */
export type EventType = keyof EventPayloads;

/** The event types that agent code may record. Only the tree and the runtime write the other types. */
export const agentEventTypes = [
  "turn.start",
  "turn.end",
  "cycle.start",
  "cycle.end",
  "flow.start",
  "flow.end",
  "custom",
] as const satisfies readonly EventType[];

/** The name of an event that agent code may record. */
export type AgentEventType = (typeof agentEventTypes)[number];

/** The fields of every event. */
interface EventBase {
  /** The number of the protocol that it was written under. Absent: before numbers existed. */
  readonly v?: number | undefined;
  /** Stable: the same event has the same id after any crash. */
  readonly eventId: EventId;
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly agent: AgentId;
  readonly at: number;
  /** The attempt of the step that this event is about. Null if none. */
  readonly attempt: AttemptId | null;
}

/** One event of the given type, or of any. */
export type ReeveEvent<Type extends EventType = EventType> = {
  readonly [Name in Type]: EventBase & EventPayloads[Name] & { readonly type: Name };
}[Type];

/** An event in its tree's order: 1, 2, 3 and so on, without a gap. */
export type NumberedEvent<Type extends EventType = EventType> = ReeveEvent<Type> & { readonly seq: number };
