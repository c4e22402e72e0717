import type {
  Diagnostic,
  AgentId,
  ApprovalDecision,
  ApprovalId,
  ApprovalRecord,
  ApprovalRequest,
  AttemptId,
  EntryId,
  Envelope,
  ErrorData,
  FileBlock,
  ExecutionBudget,
  HistoryRetention,
  Json,
  JsonObject,
  Labels,
  MessageId,
  Micros,
  NumberedEvent,
  ObjectAddress,
  PermissionRule,
  Price,
  Priority,
  RunId,
  RunRecord as ListedRun,
  RunResult,
  SessionId,
  StepId,
  Supervision,
  TenantId,
  TopicId,
  TreeId,
  Usage,
  UserId,
} from "#kernel";
import type { RunAccount, TreeState } from "#ledger";
import type { LaunchPolicy } from "../launch-policy.ts";
import type { BacklogLimits, BacklogSize, UnreadItems } from "./backlogs.ts";
import type { TreeSecret } from "../tree-secret.ts";

/** A prompt size that a provider reported, for the next execution of the run. A digest identifies the prompt. */
export interface CarriedPrompt {
  /** The key of the model's price. */
  readonly model: string;
  readonly messages: number;
  readonly digest: string;
  readonly usage: Usage;
}

/** The owner of a tree: tenant, user and session. */
export interface TreeScope {
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly channel: string | null;
  readonly metadata: JsonObject;
}

/** A compaction that a user requested. */
export interface CompactionOrder {
  /** Instructions added to the agent's own. Null: none. */
  readonly instructions: string | null;
}

/** The position of a run's turn in a conversation: of the root, or of a copy that only reads it. */
export interface TurnPosition {
  /** Whether its messages are written. If not, they are only read. */
  readonly isKept: boolean;
  /** Whether the caller has named the conversation. If not, there are no earlier messages. */
  readonly isNamed: boolean;
  /** The entry that the turn follows. Null: none. Absent: the newest one. */
  readonly after?: EntryId | null | undefined;
  /** Set if the root takes no turn but compacts the conversation. */
  readonly compaction?: CompactionOrder | undefined;
  /** Set for a copy of the run that has the turn. */
  readonly isCopy?: true | undefined;
}

/** The part of a tree's record that is fixed when the tree opens. */
export interface TreeInfo {
  readonly treeId: TreeId;
  /** Hash of agent and input. The same id with another hash is a conflict. */
  readonly inputHash: string;
  /** Null once the tree's content is erased: no run needs it then. */
  readonly secret: TreeSecret | null;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of the caller. Null: none. */
  readonly caller: string | null;
  /** Prices by provider and model id, as they were when the tree opened or first called the model. */
  readonly prices: Readonly<Record<string, Price>>;
  /** Time for a yielding run to finish its call. */
  readonly yieldTimeoutMs: number;
  /** Time for a cancelled run to end before the tree ends it. */
  readonly cancelGraceMs: number;
  /** Maximum restarts of a crashed run. */
  readonly maxRestarts: number;
  /** The conversation whose turn it has or waits for. Null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Its root's position in a stored conversation. Null: none. */
  readonly turn: TurnPosition | null;
  /** The name that lists show. Absent: none. */
  readonly name?: string;
}

/** The progress of a tree's projector. */
interface Projection {
  /** Number of the last event that it was given. */
  readonly upTo: number;
  /** Whether the projector still has to read events, or to confirm those it was given. Until then it gets no more. */
  readonly asked: boolean;
  /** Time of the last hand-out. Absent: none. */
  readonly at?: number | undefined;
  /** Number of batches since the last confirmation. Default: 0. */
  readonly batches?: number | undefined;
}

/** The record that all runs of a tree share. Fields outside {@link TreeInfo} are read and written with every call: keep them small. */
export interface TreeRecord extends TreeInfo {
  readonly status: "open" | "closed";
  readonly ledger: TreeState;
  /** The tree's time at its last call. */
  readonly clock: number;
  /** Time of the next check of deadlines and of reservations that waiting calls need. Null: none. */
  readonly timer: number | null;
  readonly nextRun: number;
  /** The number of the last event. */
  readonly seq: number;
  /** Number of the first event that the tree still has. */
  readonly firstEvent: number;
  /** Whether its root has not started because another tree has the turn. */
  readonly waits: boolean;
  readonly projection: Projection;
  /** Number of requested approvals. */
  readonly approvals: number;
  /** By the number of a cancel: number of its runs that have not ended. Completed cancels are not listed. */
  readonly cancelling: Readonly<Record<number, number>>;
  /** Whether an ended run has erasable content. */
  readonly hasErasable: boolean;
  /** Whether that content is erased. */
  readonly erased: boolean;
  /** The state of an order to erase all content, including that of permanent runs. Absent: there is no such order. */
  readonly wholeErasure?: "ordered" | "done";
  /** Whether its content port has files of messages. Default: false. */
  readonly hasContent?: true;
  /** Whether an ended run had side effects. Default: false. */
  readonly hasActed?: true;
  /** Whether its root compacts the conversation now. Default: false. */
  readonly isCompacting?: boolean;
  /** The runs that were told something by a wake-up and have not called since. They may wait for less. Default: none. */
  readonly silent?: readonly RunId[];
  /** Whether events were left for the hooks of a run to get later. Default: false. */
  readonly hasUntold?: true;
  /** The end of a root whose last turn is not saved. Absent: it is saved, or the root is alive. */
  readonly unsaved?: Pick<RunResult, "status" | "stopReason">;
}

/** The body of a message between runs. */
export interface SentContent {
  readonly text: string;
  readonly data?: Json | undefined;
  readonly files?: readonly FileBlock[] | undefined;
  /** Labels of the sender. */
  readonly labels?: Labels | undefined;
}

/** An item of a run's inbox. */
export type InboxItem =
  | { readonly kind: "message" | "steer" | "followUp"; readonly envelope: Envelope }
  | { readonly kind: "topic"; readonly subscription: string; readonly envelope: Envelope }
  | ({
      readonly kind: "reply";
      readonly ask: MessageId;
    } & SentContent)
  /** The time of a late ask counts again, because the asked run goes on. */
  | { readonly kind: "askGoesOn"; readonly ask: MessageId; readonly leftMs: number }
  | { readonly kind: "ended"; readonly run: RunId; readonly result: RunResult }
  | { readonly kind: "childPaused"; readonly run: RunId; readonly said?: SentContent | undefined }
  | { readonly kind: "childResumed"; readonly run: RunId }
  | ({ readonly kind: "signal"; readonly name: string; readonly data: Json } & Pick<SentContent, "labels">)
  | {
      readonly kind: "approval";
      readonly approval: ApprovalId;
      readonly hash: string;
      readonly decision: ApprovalDecision;
    }
  | { readonly kind: "pause" | "resume" | "abortCall" }
  /** A call that waits for money must ask again. */
  | { readonly kind: "budget"; readonly step: StepId }
  | { readonly kind: "cancel"; readonly reason: string };

/** The stored form of an inbox item. */
export type StoredItem =
  | InboxItem
  /** A placeholder for all messages of a topic that the run's subscriptions have not taken. */
  | { readonly kind: "unread"; readonly topic: TopicId };

/** The inbox of one run. */
export interface InboxRecord {
  /** Number of items taken so far: the cursor of the run. */
  readonly taken: number;
  /** Whether a wake-up without items is on its way: the run then takes all. One is enough for any number of items. */
  readonly woken: boolean;
  /** Number of the first items that wake-ups have delivered. They stay until the run reports that it has them. */
  readonly delivered: number;
  readonly items: readonly StoredItem[];
  /** Approximate length of the items. */
  readonly characters: number;
  /** The size of the items that were sent. Absent: none. */
  readonly sent?: BacklogSize | undefined;
  /** Pages of items that did not fit: `first` to `last`, both included. None if `first > last`. */
  readonly first: number;
  readonly last: number;
}

/** The default spawn options of an agent. */
export interface Terms {
  readonly version: string;
  readonly priority: Priority;
  /** Null: no limits of its own. */
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention;
  /** The tools that it may call. Null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** Maximum restarts of a crashed run. Absent: the tree's. */
  readonly maxRestarts?: number | undefined;
}

/** The agents that can be spawned, by type. */
export type AgentsRecord = Readonly<Record<string, Terms>>;

/** The dependencies of tree objects on a worker. */
export interface TreeDeps {
  /** The agents that can be spawned here. */
  readonly agents: AgentsRecord;
  /** Returns the configuration that a run of an agent is launched with. */
  readonly policyOf: (agent: AgentId) => LaunchPolicy;
  /** Whether there is a store to write into. */
  readonly projects: boolean;
  /** Time after the end of a tree for which its key, and its erasable content in the store, are kept. */
  readonly eraseAfterMs: number;
  readonly backlogs: BacklogLimits;
}

/** The limits of a run that the runs below it inherit. */
export interface RunLimits {
  readonly agentId: AgentId;
  /** The tools that it may call. Null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** The lists of tools that runs above it set for other types of agents. Absent: none. */
  readonly otherTools?: readonly { readonly type: string; readonly tools: readonly string[] }[] | undefined;
  /** Rules of its ancestors: calls that are forbidden or require approval. */
  readonly rules: readonly PermissionRule[];
}

/** One live run. */
export interface RunRecord extends RunLimits {
  readonly version: string;
  readonly supervision: Supervision;
  /** Its ancestors when it was spawned, root first. Only used to load them together: its slot names its parent. */
  readonly ancestors: readonly RunId[];
  /** The budget that it was spawned with. Null: no limits of its own. */
  readonly budget: ExecutionBudget | null;
  /** The message it was started for. Read or not, it starts no other run. */
  readonly firstMessage: MessageId | null;
  /** The engine's id of the execution. Null until it was started. */
  readonly execution: string | null;
  /** Whether wake-ups carry items to this execution. False if an earlier release launched it: it calls `take`. */
  readonly wakesWithItems: boolean;
  readonly continuation: number;
  readonly spawnedAt: number;
  /** Null while pending. */
  readonly startedAt: number | null;
  readonly account: RunAccount;
  readonly inbox: InboxRecord;
  /** Items that it had taken and not read at its last call. Absent: hardly any. */
  readonly backlog?: UnreadItems | undefined;
  /** The last text of its model when it waited or yielded. Absent: none. */
  readonly said?: SentContent | undefined;
  /** Number of the last booked report. A replayed run repeats its reports. */
  readonly reported: number;
  readonly crashes: number;
  /** The execution that crashed last. Each counts once. */
  readonly crashedIn: string;
  /** The error of its code when it crashed last. */
  readonly diagnostic?: Diagnostic | undefined;
  /** Runs, in addition to the parent, that wait for the end of this one. */
  readonly watchers: readonly RunId[];
  /** Its position in the conversation of its root, if it is a copy that reads it. Absent: none. */
  readonly turn?: TurnPosition | undefined;
  /** Open approval requests. */
  readonly asking: readonly ApprovalId[];
  /** Tools that were approved for the rest of the run. */
  readonly remembered: readonly {
    readonly tool: string;
    readonly by: string;
    /** Whether the approver knew that untrusted and private content had met. */
    readonly ruleOfTwo?: true;
  }[];
  /** The number of the cancel that reached it. Null: none. */
  readonly cancel: number | null;
  /** Cost of its own calls since then. */
  readonly spentAfter: Micros;
  /** The reason why the tree itself is about to hold it. Recorded once, with the pause. */
  readonly pausedFor: string | null;
  /** The last attempts whose denial was recorded. A repeated request is not recorded again. */
  readonly denied: readonly AttemptId[];
  /**
   * The values with events that were not passed to the run's hooks, by their first event. Null: its agent has no hooks.
   */
  readonly undeliveredEvents: readonly number[] | null;
}

/** Returns the key of a run's {@link EndedRecord}. */
export const endedKey = (run: RunId): string => `ended/${run}`;

/** Returns the key of the open asks of a run. */
export const asksKey = (run: RunId): string => `asks/${run}`;

/** Returns the key of the late asks of a run that stands still. */
export const lateAsksKey = (run: RunId): string => `late-asks/${run}`;

/** Returns the key of the {@link CancelRecord} of that number. */
export const cancelKey = (number: number): string => `cancel/${number}`;

/** Returns the key of a call in doubt. */
export const doubtKey = (attempt: AttemptId): string => `doubt/${attempt}`;

/** Returns the key that is written once, when every run of the cancel of that number has ended. */
export const cancelDoneKey = (number: number): string => `cancel/${number}/done`;

/** The key that is written once, when the tree has ended, for callers that wait only for that. */
export const closedKey = "closed";

/** The permanent record of an ended run. */
export interface EndedRecord {
  readonly agentId: AgentId;
  readonly parentRunId: RunId | null;
  readonly startedAt: number;
  readonly retention: HistoryRetention;
  readonly result: RunResult;
  readonly endedAt: number;
  /** The cost limit of its account. Absent: none. */
  readonly maxCostMicros?: Micros;
  /** The number of the cancel that reached it. Null: none. */
  readonly cancel: number | null;
  /** The cost of its own calls after that cancel. */
  readonly spentAfter: Micros;
}

/** One cancel and the runs that it reached. Written once: its receipt is computed from the ends of those runs. */
export interface CancelRecord {
  readonly reason: string;
  readonly at: number;
  readonly runs: readonly RunId[];
}

/** The asks of one run that have no reply yet. */
export type AsksRecord = readonly {
  readonly id: MessageId;
  readonly to: RunId;
  /** Its start, in working time. */
  readonly at: number;
  /** The time for which the asked run had stood still by then. */
  readonly idleMs: number;
}[];

/** The asks of a run that stands still whose time would be over if it did not. They hear when it goes on. */
export type LateAsksRecord = readonly {
  readonly ask: MessageId;
  readonly from: RunId;
  readonly timeoutMs: number;
}[];

/** A topic with subscriptions or messages. Both are stored separately. */
export interface TopicRecord {
  /** The number of the next message. */
  readonly next: number;
  /** Number of the oldest stored message. Equal to `next`: none is stored. */
  readonly first: number;
  /** The length of all messages before `next`, and of those before `first`. Absent: none. */
  readonly characters?: { readonly next: number; readonly first: number } | undefined;
  /** Number of subscriptions by their first unread message. Those without unread messages are not counted. */
  readonly unread: Readonly<Record<number, number>>;
  /** The numbers of the pages that have subscriptions. */
  readonly pages: readonly number[];
}

/** A message of a topic, as it is stored under its number. */
export interface TopicMessage extends Envelope {
  /** The length of all messages of the topic before it. Absent: an earlier build has written it. */
  readonly charactersBefore?: number | undefined;
}

/** A run's report of its end. */
export interface EndReport {
  readonly status: RunResult["status"];
  readonly stopReason: RunResult["stopReason"];
  readonly output: Json;
  readonly error?: ErrorData | undefined;
  /** Labels of the output. */
  readonly labels?: Labels | undefined;
  /** The current message when the run gave up. */
  readonly poison?: MessageId | undefined;
  /** Messages that were taken and not read, in order. Default: none. */
  readonly unread?: readonly InboxItem[] | undefined;
  /** Whether all its messages are part of its conversation. Default: false. */
  readonly isSaved?: true | undefined;
  /** Whether a tool had side effects in a turn that is not saved. Default: false. */
  readonly hasActed?: true | undefined;
}

/** The task that a child was spawned with. An ask with the same text does not deliver it again. */
export interface Task {
  readonly child: RunId;
  readonly message: MessageId;
  /** The fingerprint of its text. */
  readonly print: string;
}

/** A run's part in its conversation, for its next execution. */
export interface CarriedTurn {
  /** The number of messages that the run has added. */
  readonly count: number;
  /** The number of them that are part of the conversation. */
  readonly saved: number;
  /** The newest entry after the last save. Absent: the run has saved nothing. */
  readonly leaf?: EntryId | null | undefined;
  readonly hasActed?: true | undefined;
  /** The compaction in the middle of the turn, and the number of messages before it. Absent: none. */
  readonly cut?: { readonly entry: EntryId; readonly count: number } | undefined;
  /** Set if a compaction was requested after the turn. */
  readonly isAsked?: true | undefined;
  /** Set if the run's messages begin with a summary of the conversation. */
  readonly skipsHistory?: true | undefined;
}

/** The state that a run carries into a fresh execution, in addition to its own state. */
export interface CarriedState {
  readonly labels: Labels;
  /** Tasks of children that the run has spawned and not asked yet. */
  readonly tasks: readonly Task[];
  readonly notes: readonly { readonly guardrail: string; readonly note: Json }[];
  /** Prompt sizes that providers reported. Default: none. */
  readonly reported?: readonly CarriedPrompt[] | undefined;
  /** Default: no messages. */
  readonly turn?: CarriedTurn | undefined;
  /** Open subscriptions. Default: none. */
  readonly subscriptions?: readonly CarriedSubscription[] | undefined;
}

/** A subscription of a run to a topic. */
export interface CarriedSubscription {
  readonly topic: TopicId;
  /** Its name. Its messages carry it. */
  readonly subscription: string;
}

/** A run's approval request. The tree adds the other fields. */
export type Question = Pick<
  ApprovalRequest,
  "id" | "tool" | "risk" | "arguments" | "hash" | "why" | "asks" | "ruleOfTwo" | "sources" | "expiresAt"
> & { readonly callId?: string | undefined };

/** A decision by a person, a program or the timeout. */
export interface SettleArgument extends Omit<ApprovalDecision, "at"> {
  readonly approval: ApprovalId;
  /** Id of the operation. A repeated operation counts once. */
  readonly operationId: string;
  /** Hash of the request that the person saw. Default: that of the pending request. */
  readonly hash?: string | undefined;
  readonly at: number;
}

/** Events that the store does not have yet, and the present state of their runs and approvals. */
export interface EventBatch {
  readonly events: readonly NumberedEvent[];
  readonly runs: readonly ListedRun[];
  readonly retentions: Readonly<Record<RunId, HistoryRetention>>;
  readonly approvals: readonly ApprovalRecord[];
  /** Whether there are events beyond these. */
  readonly more: boolean;
  /** Whether the tree has ended. */
  readonly closed: boolean;
}
