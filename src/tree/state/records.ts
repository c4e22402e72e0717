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
import type { TreeSecret } from "../tree-secret.ts";

/** A size that a provider told, for the next execution of the run: a digest stands for the prompt. */
export interface CarriedPrompt {
  /** The key of the model's price. */
  readonly model: string;
  readonly messages: number;
  readonly digest: string;
  readonly usage: Usage;
}

/** Who a tree works for. */
export interface TreeScope {
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly channel: string | null;
  readonly metadata: JsonObject;
}

/** A compaction that a user asked for. */
export interface CompactionOrder {
  /** Added to the agent's own. Null: nothing. */
  readonly instructions: string | null;
}

/** The place of a run's turn in a conversation: of the root, or of a copy that only reads it. */
export interface TurnPlace {
  /** Whether its messages are written. Else they are only read. */
  readonly isKept: boolean;
  /** Whether the caller has named the conversation: else nothing was said before. */
  readonly isNamed: boolean;
  /** The entry that the turn follows; null: it follows none. Absent: the newest one. */
  readonly after?: EntryId | null | undefined;
  /** Set if the root takes no turn: it compacts the conversation. */
  readonly compaction?: CompactionOrder | undefined;
  /** Set for a copy of the run that has the turn. */
  readonly isCopy?: true | undefined;
}

/** The part of a tree's record that is settled when the tree opens. */
export interface TreeInfo {
  readonly treeId: TreeId;
  /** Of agent and input: the same id with another one is a conflict. */
  readonly inputHash: string;
  /** Null once the tree's content is erased: no run needs it any more. */
  readonly secret: TreeSecret | null;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of whoever started it. */
  readonly caller: string | null;
  /** Prices by provider and model id, as they were when the tree opened or first called the model. */
  readonly prices: Readonly<Record<string, Price>>;
  /** How long a run that must yield may finish its call. */
  readonly yieldTimeoutMs: number;
  /** How long a cancelled run may take to end before the tree ends it. */
  readonly cancelGraceMs: number;
  /** How often a run that crashed is started again. */
  readonly maxRestarts: number;
  /** The conversation whose turn it has or waits for; null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Its root's place in a stored conversation; null: it has none. */
  readonly turn: TurnPlace | null;
  /** The name that lists show. Absent: none. */
  readonly name?: string;
}

/** The events of a tree that its projector was given. */
interface Projection {
  /** The last one. */
  readonly upTo: number;
  /** Whether the projector asks for the next, or says when it has stored what it was given. Until then it gets no more. */
  readonly asked: boolean;
  /** When it was given the last ones. Absent: it was given none. */
  readonly at?: number | undefined;
  /** The number of batches that it was given since the tree knew that all are stored. Default 0. */
  readonly batches?: number | undefined;
}

/** The record that all runs of a tree share. Fields outside {@link TreeInfo} are read and written with every call: keep them small. */
export interface TreeRecord extends TreeInfo {
  readonly status: "open" | "closed";
  readonly ledger: TreeState;
  /** The tree's time at its last call. */
  readonly clock: number;
  /** When the tree looks at deadlines, and at reservations that waiting calls need; null: there are none. */
  readonly timer: number | null;
  readonly nextRun: number;
  /** The number of the last event. */
  readonly seq: number;
  /** The number of the first event that the tree still has. */
  readonly firstEvent: number;
  /** Its root has not started: somebody else has the turn. */
  readonly waits: boolean;
  readonly projection: Projection;
  /** How many approvals were asked for. */
  readonly approvals: number;
  /** By the number of a cancel: how many of its runs have not ended. Cancels that are done are not listed. */
  readonly cancelling: Readonly<Record<number, number>>;
  /** Did anybody who has ended say what does not stay? */
  readonly fleeting: boolean;
  /** Is all of that gone? */
  readonly erased: boolean;
  /** Whether its content port has files of messages. Default false. */
  readonly hasContent?: true;
  /** Whether a run that has ended has acted outside. Default false. */
  readonly hasActed?: true;
  /** Whether its root compacts the conversation now. Default false. */
  readonly isCompacting?: boolean;
  /** The end of a root whose last turn is not saved. Absent: it is, or the root is alive. */
  readonly unsaved?: Pick<RunResult, "status" | "stopReason">;
}

/** What one run says to another. */
export interface Spoken {
  readonly text: string;
  readonly data?: Json | undefined;
  readonly files?: readonly FileBlock[] | undefined;
  /** What the speaker has seen. */
  readonly labels?: Labels | undefined;
}

/** Something that waits to be taken by a run. */
export type InboxItem =
  | { readonly kind: "message" | "steer" | "followUp"; readonly envelope: Envelope }
  | { readonly kind: "topic"; readonly subscription: string; readonly envelope: Envelope }
  | ({
      readonly kind: "reply";
      readonly ask: MessageId;
    } & Spoken)
  | { readonly kind: "ended"; readonly run: RunId; readonly result: RunResult }
  | { readonly kind: "childPaused"; readonly run: RunId; readonly said?: Spoken | undefined }
  | { readonly kind: "childResumed"; readonly run: RunId }
  | ({ readonly kind: "signal"; readonly name: string; readonly data: Json } & Pick<Spoken, "labels">)
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

/** An item of an inbox as it is stored. */
export type StoredItem =
  | InboxItem
  /** Stands for all messages of a topic that the subscriptions of the run have not taken. */
  | { readonly kind: "unread"; readonly topic: TopicId };

/** What waits for one run. */
export interface InboxRecord {
  /** How many were taken so far: the cursor of the run. */
  readonly taken: number;
  /** Is the wake-up of that cursor resolved? One is enough, however many items follow. */
  readonly woken: boolean;
  readonly items: readonly StoredItem[];
  /** About how long those are. */
  readonly characters: number;
  /** Items that did not fit lie in pages `first` to `last`, both included; none while `first > last`. */
  readonly first: number;
  readonly last: number;
}

/** On which terms an agent is hired where nobody says otherwise. */
export interface Terms {
  readonly version: string;
  readonly priority: Priority;
  /** Null: no cap of its own. */
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention;
  /** The tools it may call; null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** How often a run that crashed is started again. Absent: as often as any of the tree. */
  readonly maxRestarts?: number | undefined;
}

/** Everybody who can be hired, by type. */
export type AgentsRecord = Readonly<Record<string, Terms>>;

/** What trees are worked on with, where that happens. */
export interface TreeHost {
  /** Everybody who can be hired here. */
  readonly agents: AgentsRecord;
  /** The configuration that a run of an agent is launched with. */
  readonly policyOf: (agent: AgentId) => LaunchPolicy;
  /** Is there a store to write into? */
  readonly projects: boolean;
  /** How long after the end of a tree its key, and content in the store that does not stay, are kept. */
  readonly eraseAfterMs: number;
}

/** One live run. */
export interface RunRecord {
  readonly agentId: AgentId;
  readonly version: string;
  readonly supervision: Supervision;
  /** The runs above it when it was hired, root first. Only to load them together: its slot says who its parent is. */
  readonly ancestors: readonly RunId[];
  /** What it was hired to spend; null: no cap of its own. */
  readonly budget: ExecutionBudget | null;
  /** The message it was started for: read or not, it wakes nobody else. */
  readonly boot: MessageId | null;
  /** The engine's name for the execution; null until it was started. */
  readonly execution: string | null;
  readonly continuation: number;
  readonly hiredAt: number;
  /** Null while pending. */
  readonly startedAt: number | null;
  readonly account: RunAccount;
  readonly inbox: InboxRecord;
  /** The last words of its model when it came to rest or yielded. Absent: none. */
  readonly said?: Spoken | undefined;
  /** The number of the last report that was booked: a replayed run sends its reports again. */
  readonly reported: number;
  readonly crashes: number;
  /** The execution that crashed last: each counts once. */
  readonly crashedIn: string;
  /** The error of its code when it crashed last. */
  readonly diagnostic?: Diagnostic | undefined;
  /** Runs, besides the parent, that want to know when this one ends. */
  readonly watchers: readonly RunId[];
  /** The tools it may call; null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** What those above it have forbidden, or want to be asked about. */
  readonly rules: readonly PermissionRule[];
  /** Its place in the conversation of its root, if it is a copy that reads it. Absent: it is none. */
  readonly turn?: TurnPlace | undefined;
  /** Questions to people that are open. */
  readonly asking: readonly ApprovalId[];
  /** Tools that somebody has approved for the rest of the run. */
  readonly remembered: readonly {
    readonly tool: string;
    readonly by: string;
    /** Said knowing that untrusted and private content had met. */
    readonly ruleOfTwo?: true;
  }[];
  /** The number of the cancel that reached it. */
  readonly cancel: number | null;
  /** What its own calls have come to since then. */
  readonly spentAfter: Micros;
  /** Why the tree itself is about to hold it: told once, with the pause. */
  readonly pausedFor: string | null;
  /** The last attempts whose denial was told: an attempt that asks again is not told again. */
  readonly denied: readonly AttemptId[];
  /** The values with events that the run's hooks have not been told, by their first event; null: its agent has no hooks. */
  readonly untold: readonly number[] | null;
}

/** Where the {@link EndedRecord} of a run lies. */
export const endedKey = (run: RunId): string => `ended/${run}`;

/** The key of the open asks of a run. */
export const asksKey = (run: RunId): string => `asks/${run}`;

/** Where the {@link CancelRecord} of that number lies. */
export const cancelKey = (number: number): string => `cancel/${number}`;

/** The name under which a tree keeps a call in doubt. */
export const doubtKey = (attempt: AttemptId): string => `doubt/${attempt}`;

/** Written once, when every run of the cancel of that number has ended. */
export const cancelDoneKey = (number: number): string => `cancel/${number}/done`;

/** What is written once, when the tree is over: for those who wait for nothing else. */
export const closedKey = "closed";

/** What stays of a run. */
export interface EndedRecord {
  readonly agentId: AgentId;
  readonly parentRunId: RunId | null;
  readonly startedAt: number;
  readonly retention: HistoryRetention;
  readonly result: RunResult;
  readonly endedAt: number;
  /** The cost limit of its account. Absent: none. */
  readonly maxCostMicros?: Micros;
  /** The number of the cancel that reached it; null if none did. */
  readonly cancel: number | null;
  /** The cost of its own calls after that cancel. */
  readonly spentAfter: Micros;
}

/** One cancel and the runs that it reached. Written once: its receipt is read from the ends of those runs. */
export interface CancelRecord {
  readonly reason: string;
  readonly at: number;
  readonly runs: readonly RunId[];
}

/** The asks of one run that have no reply yet. */
export type AsksRecord = readonly { readonly id: MessageId; readonly to: RunId }[];

/** A topic that has subscriptions, or messages. Both are stored apart. */
export interface TopicRecord {
  /** The number of the next message. */
  readonly next: number;
  /** The number of the oldest message that is stored. `next`: none is. */
  readonly first: number;
  /** The number of subscriptions by their first unread message. Those that have read all are not counted. */
  readonly unread: Readonly<Record<number, number>>;
  /** The numbers of the pages that have subscriptions. */
  readonly pages: readonly number[];
}

/** How a run says it ended. */
export interface EndReport {
  readonly status: RunResult["status"];
  readonly stopReason: RunResult["stopReason"];
  readonly output: Json;
  readonly error?: ErrorData | undefined;
  /** What the output is made of. */
  readonly labels?: Labels | undefined;
  /** The message in hand when the run gave up. */
  readonly poison?: MessageId | undefined;
  /** Messages that it has taken and not read, in their order. Default none. */
  readonly unread?: readonly InboxItem[] | undefined;
  /** Whether everything that it said is part of its conversation. Default false. */
  readonly isSaved?: true | undefined;
  /** Whether a tool has acted outside in a turn that is not saved. Default false. */
  readonly hasActed?: true | undefined;
}

/** The task that a child was spawned with. Asked for by the same text, it is not delivered again. */
export interface Task {
  readonly child: RunId;
  readonly message: MessageId;
  /** The fingerprint of its text. */
  readonly print: string;
}

/** The part of a run in its conversation, for its next execution. */
export interface CarriedTurn {
  /** The number of messages that the run has added. */
  readonly count: number;
  /** The number of them that are part of the conversation. */
  readonly saved: number;
  /** The newest entry after the last save. Absent: the run has saved nothing. */
  readonly leaf?: EntryId | null | undefined;
  readonly hasActed?: true | undefined;
  /** The compaction in the middle of the turn, and the number of messages before it. Absent: there was none. */
  readonly cut?: { readonly entry: EntryId; readonly count: number } | undefined;
  /** Set if a compaction was asked for after the turn. */
  readonly isAsked?: true | undefined;
  /** Set if the messages of the run begin with a summary of what was said before. */
  readonly skipsHistory?: true | undefined;
}

/** What goes with a run into a fresh execution besides its own state. */
export interface Carried {
  readonly labels: Labels;
  /** The tasks of children that the run has spawned and not asked yet. */
  readonly tasks: readonly Task[];
  readonly notes: readonly { readonly guardrail: string; readonly note: Json }[];
  /** Sizes of prompts that providers told. Default: none. */
  readonly reported?: readonly CarriedPrompt[] | undefined;
  /** Default: nothing was said. */
  readonly turn?: CarriedTurn | undefined;
  /** The subscriptions that were open. Default: none. */
  readonly subscriptions?: readonly CarriedSubscription[] | undefined;
}

/** A subscription of a run to a topic. */
export interface CarriedSubscription {
  readonly topic: TopicId;
  /** Its name: its messages come under it. */
  readonly subscription: string;
}

/** What a run asks people. The tree knows the rest. */
export type Question = Pick<
  ApprovalRequest,
  "id" | "tool" | "risk" | "arguments" | "hash" | "why" | "asks" | "ruleOfTwo" | "sources" | "expiresAt"
> & { readonly callId?: string | undefined };

/** What somebody, or the clock, says about a question. */
export interface Settling extends Omit<ApprovalDecision, "at"> {
  readonly approval: ApprovalId;
  /** Made again because its answer was lost, it counts once. */
  readonly operationId: string;
  /** Of what the person saw. Default: whatever was asked. */
  readonly hash?: string | undefined;
  readonly at: number;
}

/** What the store does not have yet: events, and the runs and questions they speak of as they stand now. */
export interface EventBatch {
  readonly events: readonly NumberedEvent[];
  readonly runs: readonly ListedRun[];
  readonly retentions: Readonly<Record<RunId, HistoryRetention>>;
  readonly approvals: readonly ApprovalRecord[];
  /** Whether there are events beyond these. */
  readonly more: boolean;
  /** Whether the tree is over. */
  readonly closed: boolean;
}
