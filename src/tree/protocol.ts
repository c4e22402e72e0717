import type {
  Diagnostic,
  AgentId,
  ApprovalDecision,
  ApprovalRecord,
  AttemptId,
  CancelReceipt,
  Epoch,
  ErrorData,
  ExecutionBudget,
  HistoryRetention,
  Json,
  MessageId,
  Micros,
  NumberedEvent,
  Blocker,
  PermissionRule,
  Priority,
  RunId,
  RunResult,
  RunStatus,
  Sender,
  StepId,
  Supervision,
  TopicId,
  Usage,
} from "#kernel";
import type { ReservationRequest, Doubt, Gate, RunAt } from "#ledger";
import type { LaunchPolicy } from "./launch-policy.ts";
import type { TreeSecret } from "./tree-secret.ts";
import type { OpenArgument, OpenReply } from "./open-argument.ts";
import type { EraseOrder, EraseReply } from "./orders.ts";
import type { FinalResult, Report, Settlement } from "./report.ts";
import type {
  CarriedState,
  EndReport,
  InboxItem,
  Question,
  RunRecord,
  SettleArgument,
  SentContent,
  TreeScope,
  EventBatch,
  TurnPosition,
} from "./state/records.ts";
import type { SwitchRef } from "./switches/switch-protocol.ts";

/** The id of an operation. A repeated operation counts once, even after other changes. */
interface OperationArgument {
  readonly operationId: string;
}

/** The input of an execution of a run. */
export interface LaunchInput {
  readonly agentId: AgentId;
  readonly version: string;
  readonly supervision: Supervision;
  readonly scope: TreeScope;
  readonly traceId: string;
  readonly secret: TreeSecret;
  readonly policy: LaunchPolicy;
  readonly deadline: number | null;
  readonly state: Json;
  readonly tools: readonly string[] | null;
  readonly rules: readonly PermissionRule[];
  /** The state that the previous execution carried over. Null for the first. */
  readonly carried: CarriedState | null;
  /** The position of a root, or of its copy, in a stored conversation. Absent: none. */
  readonly turn?: TurnPosition;
  readonly inbox: InboxBatch;
}

/** Items that a run has taken from its inbox, with its slot state. */
export interface InboxBatch {
  readonly items: readonly InboxItem[];
  /** Number of items taken so far. The next wake-up is named after it. */
  readonly cursor: number;
  /** Whether there are more items. If so, the run takes again before it waits. */
  readonly more: boolean;
  /** Whether the run may start operations, must yield first, or has no slot. */
  readonly slotState: "running" | "yielding" | "parked";
  readonly at: number;
}

/** The fields of every call of a run: its reports, and the time as far as it knows. */
export interface FromRun {
  readonly run: RunId;
  /** The journal of the reports. Each journal numbers its own. */
  readonly continuation: number;
  readonly reports: readonly Report[];
  /** Number of items of its inbox that the run has. Absent: as many as it has taken. */
  readonly cursor?: number | undefined;
  /** Items that it has taken and its code has not read. Absent: hardly any. */
  readonly backlog?: RunRecord["backlog"];
  readonly at: number;
}

/** A call of a run that has nothing in flight. */
export interface WaitArgument extends FromRun {
  /** The last text of its model. Absent: the tree has it already, or may not have it. */
  readonly said?: SentContent | undefined;
}

/** The tree's reply to a run. */
export interface RunReply<Reply> {
  readonly reply: Reply;
  /** Events of the run that were not passed to its hooks yet. Absent: none, or its agent has no hooks. */
  readonly events?: readonly NumberedEvent[];
}

/** The amounts that a model call requests. */
export interface CallRequest extends Omit<ReservationRequest, "inputTokens"> {
  /** An upper bound of the input. Null: unbounded. */
  readonly inputTokens: number | null;
  /** The key of the model's price. */
  readonly model: string;
}

/** The argument of the gate. */
export interface BeginArgument extends FromRun {
  readonly step: StepId;
  readonly attempt: AttemptId;
  readonly epoch: Epoch;
  readonly ask: CallRequest | null;
  readonly rerun: boolean | AttemptId;
  /** Earlier attempts by the same execution of this step. */
  readonly previous: readonly Settlement[];
  /** The subject of the call, for the event: a model's id or a tool's name. */
  readonly subject: string;
  /** The model's id for a tool call. Default: the attempt's. */
  readonly callId?: string | undefined;
  /**
   * Whether the caller asks again later if other trees hold what the tenant could lend. If so, the reply is
   * `needs-lease`. Default: false, the call takes what is available.
   */
  readonly mayWait?: boolean | undefined;
  /** Timeout of a model call. Default: 0. */
  readonly timeoutMs?: number | undefined;
  /** Set if a call that does not fit may wait: the start of its wait, or null if it has not waited. */
  readonly waitsSince?: number | null | undefined;
}

/** The argument of a spawn. */
export interface SpawnArgument extends FromRun, Omit<SentContent, "text"> {
  readonly agentId: AgentId;
  readonly text: string | null;
  readonly messageId: MessageId;
  /** Whether the parent waits for the reply to the first message. */
  readonly asks: boolean;
  /** The priority that the parent chose. Null: the agent's default. */
  readonly priority: Priority | null;
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention | null;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly tools: readonly string[] | null;
  /** Rules for the child, in addition to those of the parent. */
  readonly rules: readonly PermissionRule[];
  /** The position of a copy in the conversation of its root. Absent: none. */
  readonly turn?: TurnPosition | undefined;
}

/** A message to a run, or to an agent. */
export interface SendArgument extends SentContent {
  readonly to: RunId | AgentId;
  readonly messageId: MessageId;
  readonly from: Sender;
  /** The run that waits for a reply. */
  readonly askedBy?: RunId | undefined;
  readonly at: number;
}

/** The argument and the reply of every method and query of a tree. */
interface TreeProtocol {
  readonly open: { readonly argument: OpenArgument; readonly reply: OpenReply };
  /** From the session: the waiting tree has its turn. */
  readonly startTurn: { readonly argument: { readonly at: number }; readonly reply: null };
  readonly begin: {
    readonly argument: BeginArgument;
    readonly reply: { readonly gate: Gate; readonly reported: number };
  };
  /** From a run that can only wait. If its inbox has items, it does not wait. */
  readonly wait: {
    readonly argument: WaitArgument & { readonly on: readonly RunId[] | null };
    readonly reply: InboxBatch;
  };
  readonly take: { readonly argument: FromRun; readonly reply: InboxBatch };
  readonly yield: { readonly argument: WaitArgument; readonly reply: InboxBatch };
  readonly spawn: {
    readonly argument: SpawnArgument;
    readonly reply: { readonly run: RunId } | { readonly error: ErrorData };
  };
  readonly send: {
    readonly argument: SendArgument;
    readonly reply: { readonly to: RunId } | { readonly deadLetter: string } | { readonly error: ErrorData };
  };
  /** From a run that answers a question. The reply holds new inbox items: usually none, and the run ends. */
  readonly reply: {
    readonly argument: FromRun & SentContent & { readonly ask: MessageId; readonly to: RunId };
    readonly reply: InboxBatch;
  };
  /**
   * Ends a question whose asker no longer waits. With a timeout, only once that is over: time in which the asked run
   * stands still does not count.
   */
  readonly abandonAsk: {
    readonly argument: RunAt & { readonly ask: MessageId; readonly timeoutMs?: number | undefined };
    /**
     * With a timeout, the time that is left. 0: the question has ended. Null: the asked run stands still, and the run
     * that asked hears when it goes on.
     */
    readonly reply: number | null;
  };
  /** Returns the result of an ended run. Null while it lives: the result then arrives in the inbox. */
  readonly watch: {
    readonly argument: { readonly run: RunId; readonly target: RunId; readonly at: number };
    readonly reply: RunResult | null;
  };
  readonly emit: {
    readonly argument: FromRun &
      Pick<SentContent, "labels"> & {
        readonly topic: TopicId;
        readonly data: Json;
        readonly messageId: MessageId;
      };
    /** Null: it was published. An error: it was not, because a subscriber is too far behind. */
    readonly reply: { readonly error: ErrorData } | null;
  };
  /** Begins or ends a subscription to a topic. */
  readonly subscribe: {
    readonly argument: RunAt & {
      readonly topic: TopicId;
      /** The name of the subscription. Its messages carry it. */
      readonly subscription: string;
      readonly on: boolean;
    };
    readonly reply: null;
  };
  readonly signal: {
    readonly argument: Pick<SentContent, "labels"> & {
      readonly run: RunId;
      readonly name: string;
      readonly data: Json;
      readonly messageId: MessageId;
      readonly at: number;
    };
    readonly reply: null;
  };
  readonly injectMessage: {
    readonly argument: SentContent & {
      readonly run: RunId;
      readonly kind: "steer" | "followUp";
      readonly messageId: MessageId;
      readonly at: number;
    };
    readonly reply: null;
  };
  readonly cancel: {
    readonly argument: { readonly run: RunId; readonly reason: string; readonly at: number };
    /** The number of the cancel. Null if the run has ended. */
    readonly reply: number | null;
  };
  readonly requestApproval: {
    readonly argument: FromRun & { readonly approval: Question };
    /** Null: the decision arrives in the inbox. */
    readonly reply: ApprovalDecision | null;
  };
  readonly decideApproval: { readonly argument: SettleArgument; readonly reply: ApprovalDecision };
  readonly pause: { readonly argument: RunAt & OperationArgument; readonly reply: null };
  readonly resume: { readonly argument: RunAt & OperationArgument; readonly reply: null };
  /** From a run's own step: its agent or its tenant is disabled. The reply tells whether the run is held. */
  readonly holdDisabled: { readonly argument: RunAt & SwitchRef; readonly reply: boolean };
  /** From the switches: the agent or tenant that the run was held for is enabled again. */
  readonly releaseDisabled: { readonly argument: RunAt & SwitchRef; readonly reply: null };
  readonly reprioritize: {
    readonly argument: RunAt & OperationArgument & { readonly priority: Priority };
    readonly reply: null;
  };
  readonly topUp: {
    readonly argument: {
      /** On the root, the tree is topped up as well. */
      readonly run: RunId;
      readonly tokens: number;
      readonly costMicros: Micros;
      readonly turns: number;
      readonly at: number;
    } & OperationArgument;
    readonly reply: null;
  };
  readonly reconcile: {
    readonly argument: { readonly attempt: AttemptId; readonly usage: Usage; readonly at: number };
    readonly reply: boolean;
  };
  /**
   * From an execution that gave up: its code crashed, or is of another version than the run. The reply tells whether to
   * restart it.
   */
  readonly crashed: {
    readonly argument: {
      readonly run: RunId;
      readonly epoch: string;
      readonly why: "crash" | "version";
      /** The error of its code. */
      readonly diagnostic?: Diagnostic | undefined;
      readonly at: number;
    };
    /** A cancelled run, or one past its deadline, is not restarted. */
    readonly reply: { readonly again: boolean; readonly cancelled: string | null };
  };
  /**
   * Reports that the engine or an operator has stopped an execution for good. The reply is true if it concerns a live
   * run.
   */
  readonly blocked: {
    readonly argument: Pick<Blocker, "kind" | "lastError"> & {
      readonly execution: string;
      readonly policy: "hold" | "fail";
      readonly at: number;
    };
    readonly reply: boolean;
  };
  readonly continue: {
    readonly argument: FromRun & {
      readonly state: Json;
      readonly unread: readonly InboxItem[];
      readonly carried: CarriedState;
    };
    readonly reply: null;
  };
  readonly end: {
    readonly argument: FromRun & { readonly end: EndReport };
    /** Set if nothing is left that could change the tree. */
    readonly reply: FinalResult | null;
  };
  /** From the projector: hands it the events above `after`, once. */
  readonly drain: {
    readonly argument: { readonly after: number; readonly limit: number; readonly at: number };
    readonly reply: EventBatch;
  };
  /** From the projector: the store has everything that was handed out. */
  readonly projected: { readonly argument: { readonly at: number }; readonly reply: null };
  /**
   * To an ended tree: erase all content, including that of permanent runs. Requires a store. The reply is false if the
   * tree has not ended.
   */
  readonly eraseAll: { readonly argument: { readonly at: number }; readonly reply: boolean };
  /** To an ended tree: erase the content that its retention names, or all if that was ordered. */
  readonly erase: { readonly argument: EraseOrder; readonly reply: EraseReply };
  /** From the tenant: another tree needs the unused part of this tree's lease. */
  readonly recall: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To itself: the grace period of a cancel has passed. */
  readonly cancelOverdue: {
    readonly argument: { readonly number: number; readonly at: number };
    readonly reply: null;
  };
  /** To itself: the earliest deadline of a live run has passed, or a reservation is due that a waiting call needs. */
  readonly timerDue: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To itself: a run's time to yield has passed. */
  readonly yieldOverdue: { readonly argument: RunAt; readonly reply: null };

  readonly status: { readonly argument: { readonly run: RunId }; readonly reply: RunStatus | null };
  /** Whether the root compacts its conversation now. */
  readonly compacting: { readonly argument: null; readonly reply: boolean };
  readonly result: {
    readonly argument: { readonly run: RunId };
    /** Null while the run, or for a root its tree, is alive. */
    readonly reply: RunResult | null;
  };
  readonly events: {
    readonly argument: { readonly after: number; readonly limit: number };
    readonly reply: {
      readonly events: readonly NumberedEvent[];
      readonly closed: boolean;
      /** Whether there are events beyond these. */
      readonly more: boolean;
    };
  };
  /** Events above `after`, and the present state of their runs. */
  readonly unprojected: {
    readonly argument: { readonly after: number; readonly limit: number };
    readonly reply: EventBatch;
  };
  readonly approvals: { readonly argument: null; readonly reply: readonly ApprovalRecord[] };
  /** The retention of each run. */
  readonly retentions: { readonly argument: null; readonly reply: EventBatch["retentions"] };
  readonly receipt: {
    readonly argument: { readonly number: number };
    /** Null while a cancelled run is alive. */
    readonly reply: CancelReceipt | null;
  };
  readonly ledger: { readonly argument: { readonly run: RunId }; readonly reply: Json };
  /** The booking of a call whose outcome is unknown. Null: there is no such doubt. */
  readonly doubt: { readonly argument: { readonly attempt: AttemptId }; readonly reply: Doubt | null };
}

/** A method or query of a tree. */
export type TreeMethod = keyof TreeProtocol;
/** The argument of a method. */
export type ArgumentOf<Method extends TreeMethod> = TreeProtocol[Method]["argument"];
/** The reply of a method. */
export type ReplyOf<Method extends TreeMethod> = TreeProtocol[Method]["reply"];
/** A method that a run calls with its reports. Its reply comes in a {@link RunReply}. */
export type RunMethod = { [M in TreeMethod]: ArgumentOf<M> extends FromRun ? M : never }[TreeMethod];
