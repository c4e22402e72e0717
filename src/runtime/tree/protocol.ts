import type {
  AgentId,
  ApprovalDecision,
  ApprovalRecord,
  AttemptId,
  CancelReceipt,
  Envelope,
  ErrorData,
  ExecutionBudget,
  HistoryRetention,
  Json,
  MessageId,
  Micros,
  NumberedEvent,
  ObjectAddress,
  PermissionRule,
  Price,
  Priority,
  RunId,
  RunResult,
  RunStatus,
  Sender,
  SpawnBudget,
  StepId,
  Supervision,
  TopicId,
  TreeId,
  Usage,
} from "#kernel";
import type { Ask, Block, Gate } from "#ledger";
import type {
  Carried,
  EndReport,
  InboxItem,
  Question,
  Report,
  Settlement,
  Settling,
  Spoken,
  TreeScope,
  UnprojectedReply,
} from "./records.ts";

/** What a tree asks its projector for. It holds no words. */
export type ProjectorOrder =
  | { readonly kind: "write" | "erase"; readonly after: number; readonly at: number }
  /** All is erased: its key goes. `runs`: how many had words that do not stay. */
  | { readonly kind: "forget"; readonly runs: number };

/** What opens a tree. */
export interface OpenArgument {
  readonly treeId: TreeId;
  readonly inputHash: string;
  readonly agentId: AgentId;
  readonly version: string;
  readonly boot: Envelope;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of whoever starts it. */
  readonly caller: string | null;
  readonly spawn: SpawnBudget;
  readonly treeBudget: ExecutionBudget;
  readonly rootBudget: ExecutionBudget;
  readonly block: Block | null;
  readonly priority: Priority;
  readonly retention: HistoryRetention;
  /** What nobody in the tree may do, or must ask about. */
  readonly rules: readonly PermissionRule[];
  readonly prices: Readonly<Record<string, Price>>;
  readonly ageingMs: number;
  readonly yieldTimeoutMs: number;
  readonly maxRestarts: number;
  /** The conversation whose turn it takes; null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Somebody else has that turn: the root starts when it is told to go. */
  readonly waits: boolean;
  readonly at: number;
}

/** What an execution of a run is launched with. */
export interface Entrance {
  readonly agentId: AgentId;
  readonly version: string;
  readonly supervision: Supervision;
  readonly scope: TreeScope;
  readonly traceId: string;
  readonly deadline: number | null;
  readonly state: Json;
  readonly prices: Readonly<Record<string, Price>>;
  readonly tools: readonly string[] | null;
  readonly rules: readonly PermissionRule[];
  /** What the execution before has left; null for the first. */
  readonly carried: Carried | null;
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

/** What a model call asks for. */
export interface Wish extends Omit<Ask, "inputTokens"> {
  /** An upper bound of the input; null where there is none. */
  readonly inputTokens: number | null;
}

/** What asks the gate. */
export interface BeginArgument extends FromRun {
  readonly step: StepId;
  readonly attempt: AttemptId;
  readonly epoch: string;
  readonly ask: Wish | null;
  readonly rerun: boolean | AttemptId;
  /** Attempts that the same execution of this step has made before. */
  readonly previous: readonly Settlement[];
  /** What the call is, for the event: a model's id or a tool's name. */
  readonly subject: string;
  /** The model's own name for a tool call. Default: the attempt's. */
  readonly callId?: string | undefined;
}

/** Whom a run hires. */
export interface HireArgument extends FromRun, Pick<Spoken, "labels"> {
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
  readonly open: { readonly argument: OpenArgument; readonly reply: { readonly existing: boolean } };
  /** From its session: the tree that waited has its turn. */
  readonly go: { readonly argument: { readonly at: number }; readonly reply: null };
  readonly begin: {
    readonly argument: BeginArgument;
    readonly reply: { readonly gate: Gate; readonly reported: number };
  };
  /** Nothing left to do but wait. With news the run does not wait. */
  readonly rest: {
    readonly argument: FromRun & { readonly on: readonly RunId[] | null };
    readonly reply: News;
  };
  readonly take: { readonly argument: FromRun; readonly reply: News };
  readonly yield: { readonly argument: FromRun; readonly reply: News };
  readonly hire: {
    readonly argument: HireArgument;
    readonly reply:
      | {
          readonly run: RunId;
          readonly priority: Priority;
          /** Null: it has its slot. */
          readonly queued: { readonly victim: RunId | null } | null;
        }
      | { readonly error: ErrorData };
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
    readonly argument: { readonly ask: MessageId; readonly at: number };
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
  readonly follow: {
    readonly argument: {
      readonly run: RunId;
      readonly topic: TopicId;
      /** Names this following: what is told comes under it. */
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
    readonly argument: {
      readonly run: RunId;
      readonly kind: "steer" | "followUp";
      readonly text: string;
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
  readonly pause: { readonly argument: { readonly run: RunId; readonly at: number }; readonly reply: null };
  readonly resume: { readonly argument: { readonly run: RunId; readonly at: number }; readonly reply: null };
  readonly reprioritize: {
    readonly argument: { readonly run: RunId; readonly priority: Priority; readonly at: number };
    readonly reply: null;
  };
  readonly topUp: {
    readonly argument: {
      /** The root's run tops the tree up, too. */
      readonly run: RunId;
      readonly tokens: number;
      readonly cost: Micros;
      readonly turns: number;
      readonly operationId: string;
      readonly at: number;
    };
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
      readonly at: number;
    };
    /** A run that is cancelled, or past its deadline, is not started again. */
    readonly reply: { readonly again: boolean; readonly cancelled: string | null };
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
    /** How it ended, and what it came to; null if it had ended before. */
    readonly reply: Pick<RunResult, "status" | "stopReason" | "usage" | "spend"> | null;
  };
  /** The store has everything up to an event. */
  readonly projected: {
    readonly argument: { readonly upTo: number; readonly at: number };
    readonly reply: null;
  };
  /** To a tree that is over: what does not stay goes. */
  readonly erase: { readonly argument: { readonly at: number }; readonly reply: null };
  /** To itself: a run had this long to yield. */
  readonly yieldOverdue: {
    readonly argument: { readonly run: RunId; readonly at: number };
    readonly reply: null;
  };

  readonly status: { readonly argument: { readonly run: RunId }; readonly reply: RunStatus | null };
  readonly result: {
    readonly argument: { readonly run: RunId };
    /** Null while the run, or for a root its tree, lives. */
    readonly reply: RunResult | null;
  };
  readonly events: {
    readonly argument: { readonly after: number; readonly limit: number };
    readonly reply: { readonly events: readonly NumberedEvent[]; readonly closed: boolean };
  };
  /** Events above `after`, and the runs they speak of, as they stand now. */
  readonly unprojected: {
    readonly argument: { readonly after: number; readonly limit: number };
    readonly reply: UnprojectedReply;
  };
  readonly approvals: { readonly argument: null; readonly reply: readonly ApprovalRecord[] };
  /** Of every run that has ended, how long its words stay. */
  readonly retentions: { readonly argument: null; readonly reply: UnprojectedReply["retentions"] };
  readonly receipt: {
    readonly argument: { readonly number: number };
    /** Null while a cancelled run lives. */
    readonly reply: CancelReceipt | null;
  };
  readonly ledger: { readonly argument: { readonly run: RunId }; readonly reply: Json };
}

/** A method or query of a tree. */
export type TreeMethod = keyof TreeProtocol;
/** What a method is given. */
export type ArgumentOf<Method extends TreeMethod> = TreeProtocol[Method]["argument"];
/** What a method answers. */
export type ReplyOf<Method extends TreeMethod> = TreeProtocol[Method]["reply"];
