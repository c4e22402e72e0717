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
  Obstacle,
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
import type { Ask, Doubt, Gate, RunAt } from "#ledger";
import type { LaunchPolicy } from "./launch-policy.ts";
import type { TreeSecret } from "./tree-secret.ts";
import type { OpenArgument, OpenReply } from "./open-argument.ts";
import type { EraseOrder, EraseReply } from "./orders.ts";
import type { FinalResult, Report, Settlement } from "./report.ts";
import type {
  Carried,
  EndReport,
  InboxItem,
  Question,
  Settling,
  Spoken,
  TreeScope,
  EventBatch,
  TurnPlace,
} from "./state/records.ts";
import type { SwitchRef } from "./switches/switch-protocol.ts";

/** Names an operation: made again because its answer was lost, it counts once, whatever was done since. */
interface Operated {
  readonly operationId: string;
}

/** What an execution of a run is launched with. */
export interface Entrance {
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
  /** What the execution before has left; null for the first. */
  readonly carried: Carried | null;
  /** The place of a root, or of its copy, in a stored conversation. Absent: the run has none. */
  readonly turn?: TurnPlace;
  readonly news: News;
}

/** What a run has taken from its inbox. */
export interface News {
  readonly items: readonly InboxItem[];
  /** How many it has taken in all: its next wake-up is named after it. */
  readonly cursor: number;
  /** There are more: take again before you wait. */
  readonly more: boolean;
  /** May it start something, must it yield first, or has it no slot? */
  readonly standing: "running" | "yielding" | "parked";
  readonly at: number;
}

/** What a run sends along with whatever else it asks: the past, and the time as far as it knows. */
export interface FromRun {
  readonly run: RunId;
  /** Which of its journals the reports are from: each numbers its own. */
  readonly continuation: number;
  readonly reports: readonly Report[];
  readonly at: number;
}

/** A call of a run that has nothing in flight. */
export interface AtRest extends FromRun {
  /** The last words of its model; absent: the tree has them, or may not. */
  readonly said?: Spoken | undefined;
}

/** The tree's answer to a run. */
export interface RunReply<Reply> {
  readonly reply: Reply;
  /** Events of the run that its hooks have not been told. Absent: none, or its agent has no hooks. */
  readonly events?: readonly NumberedEvent[];
}

/** The amounts that a model call asks for. */
export interface Wish extends Omit<Ask, "inputTokens"> {
  /** An upper bound of the input; null where there is none. */
  readonly inputTokens: number | null;
  /** The key of the model's price. */
  readonly model: string;
}

/** What asks the gate. */
export interface BeginArgument extends FromRun {
  readonly step: StepId;
  readonly attempt: AttemptId;
  readonly epoch: Epoch;
  readonly ask: Wish | null;
  readonly rerun: boolean | AttemptId;
  /** Attempts that the same execution of this step has made before. */
  readonly previous: readonly Settlement[];
  /** What the call is, for the event: a model's id or a tool's name. */
  readonly subject: string;
  /** The model's own name for a tool call. Default: the attempt's. */
  readonly callId?: string | undefined;
  /**
   * Whether the caller asks again later when other trees hold what the tenant could lend: the answer is `needs-block`
   * then. Default: no, it takes what there is.
   */
  readonly mayWait?: boolean | undefined;
  /** The time that a model call may take. Default 0. */
  readonly timeoutMs?: number | undefined;
  /** Set if a call that does not fit may wait: since when it has waited, null if it has not. */
  readonly waitsSince?: number | null | undefined;
}

/** Whom a run hires. */
export interface HireArgument extends FromRun, Omit<Spoken, "text"> {
  readonly agentId: AgentId;
  readonly text: string | null;
  readonly messageId: MessageId;
  /** The hiring run waits for the reply to the boot message. */
  readonly asks: boolean;
  /** What the hiring run chose; null: as the agent's own terms are. */
  readonly priority: Priority | null;
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention | null;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly tools: readonly string[] | null;
  /** What the helper may not do, or must ask about, besides what holds for the hiring run. */
  readonly rules: readonly PermissionRule[];
  /** The place of a copy in the conversation of its root. Absent: it has none. */
  readonly turn?: TurnPlace | undefined;
}

/** A message to a run, or to an agent. */
export interface SendArgument extends Spoken {
  readonly to: RunId | AgentId;
  readonly messageId: MessageId;
  readonly from: Sender;
  /** The run that waits for a reply. */
  readonly askedBy?: RunId | undefined;
  readonly at: number;
}

/** Every method and query of a tree. */
interface TreeProtocol {
  readonly open: { readonly argument: OpenArgument; readonly reply: OpenReply };
  /** From its session: the tree that waited has its turn. */
  readonly go: { readonly argument: { readonly at: number }; readonly reply: null };
  readonly begin: {
    readonly argument: BeginArgument;
    readonly reply: { readonly gate: Gate; readonly reported: number };
  };
  /** Nothing left to do but wait. With news the run does not wait. */
  readonly rest: {
    readonly argument: AtRest & { readonly on: readonly RunId[] | null };
    readonly reply: News;
  };
  readonly take: { readonly argument: FromRun; readonly reply: News };
  readonly yield: { readonly argument: AtRest; readonly reply: News };
  readonly hire: {
    readonly argument: HireArgument;
    readonly reply: { readonly run: RunId } | { readonly error: ErrorData };
  };
  readonly send: {
    readonly argument: SendArgument;
    readonly reply: { readonly to: RunId } | { readonly deadLetter: string } | { readonly error: ErrorData };
  };
  /** Who has answered is told what has come meanwhile: mostly there is nothing, and the run ends. */
  readonly reply: {
    readonly argument: FromRun & Spoken & { readonly ask: MessageId; readonly to: RunId };
    readonly reply: News;
  };
  /** Ends a question that nobody waits for any more. */
  readonly unask: {
    readonly argument: { readonly run: RunId; readonly ask: MessageId; readonly at: number };
    readonly reply: null;
  };
  /** The result of a run that has ended; else null, and news when it does. */
  readonly watch: {
    readonly argument: { readonly run: RunId; readonly target: RunId; readonly at: number };
    readonly reply: RunResult | null;
  };
  readonly emit: {
    readonly argument: FromRun &
      Pick<Spoken, "labels"> & {
        readonly topic: TopicId;
        readonly data: Json;
        readonly messageId: MessageId;
      };
    readonly reply: null;
  };
  /** Begins or ends a subscription to a topic. The name is part of journals. */
  readonly follow: {
    readonly argument: {
      readonly run: RunId;
      readonly topic: TopicId;
      /** The name of the subscription: its messages come under it. */
      readonly subscription: string;
      readonly on: boolean;
      readonly at: number;
    };
    readonly reply: null;
  };
  readonly signal: {
    readonly argument: Pick<Spoken, "labels"> & {
      readonly run: RunId;
      readonly name: string;
      readonly data: Json;
      readonly messageId: MessageId;
      readonly at: number;
    };
    readonly reply: null;
  };
  readonly nudge: {
    readonly argument: Spoken & {
      readonly run: RunId;
      readonly kind: "steer" | "followUp";
      readonly messageId: MessageId;
      readonly at: number;
    };
    readonly reply: null;
  };
  readonly cancel: {
    readonly argument: { readonly run: RunId; readonly reason: string; readonly at: number };
    /** The number of the cancel; null if the run has ended. */
    readonly reply: number | null;
  };
  readonly requestApproval: {
    readonly argument: FromRun & { readonly approval: Question };
    /** Null: news when it is decided. */
    readonly reply: ApprovalDecision | null;
  };
  readonly decideApproval: { readonly argument: Settling; readonly reply: ApprovalDecision };
  readonly pause: { readonly argument: RunAt & Operated; readonly reply: null };
  readonly resume: { readonly argument: RunAt & Operated; readonly reply: null };
  /** From a run's own step: its agent or its tenant is disabled. The reply: whether the run is held. */
  readonly holdDisabled: { readonly argument: RunAt & SwitchRef; readonly reply: boolean };
  /** From the switches: what the run was held for is enabled again. */
  readonly releaseDisabled: { readonly argument: RunAt & SwitchRef; readonly reply: null };
  readonly reprioritize: {
    readonly argument: RunAt & Operated & { readonly priority: Priority };
    readonly reply: null;
  };
  readonly topUp: {
    readonly argument: {
      /** The root's run tops the tree up, too. */
      readonly run: RunId;
      readonly tokens: number;
      readonly costMicros: Micros;
      readonly turns: number;
      readonly at: number;
    } & Operated;
    readonly reply: null;
  };
  readonly reconcile: {
    readonly argument: { readonly attempt: AttemptId; readonly usage: Usage; readonly at: number };
    readonly reply: boolean;
  };
  /** An execution gave up: its code crashed, or is of another version than the run. Start it again? */
  readonly crashed: {
    readonly argument: {
      readonly run: RunId;
      readonly epoch: string;
      readonly why: "crash" | "version";
      /** The error of its code. */
      readonly diagnostic?: Diagnostic | undefined;
      readonly at: number;
    };
    /** A run that is cancelled, or past its deadline, is not started again. */
    readonly reply: { readonly again: boolean; readonly cancelled: string | null };
  };
  /** The engine has stopped an execution for good, or an operator has. True if that concerns a live run. */
  readonly blocked: {
    readonly argument: Pick<Obstacle, "kind" | "words"> & {
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
      readonly carried: Carried;
    };
    readonly reply: null;
  };
  readonly end: {
    readonly argument: FromRun & { readonly end: EndReport };
    /** Set if nothing of the tree is left that could change it. */
    readonly reply: FinalResult | null;
  };
  /** From its projector: hands it the events above `after`, once. */
  readonly drain: {
    readonly argument: { readonly after: number; readonly limit: number; readonly at: number };
    readonly reply: EventBatch;
  };
  /** From its projector: the store has everything that it was handed. */
  readonly projected: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To a tree that is over: what does not stay goes. */
  readonly erase: { readonly argument: EraseOrder; readonly reply: EraseReply };
  /** From its tenant: another tree needs what this one has borrowed and does not use. */
  readonly recall: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To itself: the runs of a cancel had this long to end. */
  readonly cancelOverdue: {
    readonly argument: { readonly number: number; readonly at: number };
    readonly reply: null;
  };
  /** To itself: the earliest deadline of a live run is over, or a reservation is due that a waiting call needs. */
  readonly timerDue: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To itself: a run had this long to yield. */
  readonly yieldOverdue: { readonly argument: RunAt; readonly reply: null };

  readonly status: { readonly argument: { readonly run: RunId }; readonly reply: RunStatus | null };
  /** Whether the root compacts its conversation now. */
  readonly compacting: { readonly argument: null; readonly reply: boolean };
  readonly result: {
    readonly argument: { readonly run: RunId };
    /** Null while the run, or for a root its tree, lives. */
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
  /** Events above `after`, and the runs they speak of, as they stand now. */
  readonly unprojected: {
    readonly argument: { readonly after: number; readonly limit: number };
    readonly reply: EventBatch;
  };
  readonly approvals: { readonly argument: null; readonly reply: readonly ApprovalRecord[] };
  /** The retention of each run. */
  readonly retentions: { readonly argument: null; readonly reply: EventBatch["retentions"] };
  readonly receipt: {
    readonly argument: { readonly number: number };
    /** Null while a cancelled run lives. */
    readonly reply: CancelReceipt | null;
  };
  readonly ledger: { readonly argument: { readonly run: RunId }; readonly reply: Json };
  /** The booking of a call whose outcome is not known; null: there is no such doubt. */
  readonly doubt: { readonly argument: { readonly attempt: AttemptId }; readonly reply: Doubt | null };
}

/** A method or query of a tree. */
export type TreeMethod = keyof TreeProtocol;
/** What a method is given. */
export type ArgumentOf<Method extends TreeMethod> = TreeProtocol[Method]["argument"];
/** What a method answers. */
export type ReplyOf<Method extends TreeMethod> = TreeProtocol[Method]["reply"];
/** A method that a run calls with its reports. Its reply comes in a {@link RunReply}. */
export type RunMethod = { [M in TreeMethod]: ArgumentOf<M> extends FromRun ? M : never }[TreeMethod];
