import type {
  AgentId,
  ApprovalDecision,
  ApprovalId,
  ApprovalRecord,
  ApprovalRequest,
  AttemptId,
  Envelope,
  ErrorData,
  EventPayloads,
  EventType,
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
  Supervision,
  TenantId,
  TopicId,
  TreeId,
  Usage,
  UserId,
} from "#kernel";
import type { RunAccount, TreeState } from "#ledger";

/** Who a tree works for. */
export interface TreeScope {
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly channel: string | null;
  readonly metadata: JsonObject;
}

/** What every run of a tree shares. Small: it is read and written with every call. */
export interface TreeRecord {
  readonly treeId: TreeId;
  readonly status: "open" | "closed";
  /** Of agent and input: the same id with another one is a conflict. */
  readonly inputHash: string;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of whoever started it. */
  readonly caller: string | null;
  readonly ledger: TreeState;
  /** The latest time anybody told: callers' clocks may disagree, the tree's does not go back. */
  readonly clock: number;
  readonly nextRun: number;
  /** The number of the last event. */
  readonly seq: number;
  /** The newest events; older ones lie in full pages. */
  readonly tail: readonly NumberedEvent[];
  /** Model prices as they were when the tree opened. */
  readonly prices: Readonly<Record<string, Price>>;
  /** How long a run that must yield may finish its call. */
  readonly yieldTimeoutMs: number;
  /** How often a run that crashed is started again. */
  readonly maxRestarts: number;
  /** The conversation whose turn it has or waits for; null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Its root has not started: somebody else has the turn. */
  readonly waits: boolean;
  /** How far the store has its events, and whether it is on its way to the next. */
  readonly projection: { readonly upTo: number; readonly asked: boolean };
  /** Did anybody who has ended say what does not stay? */
  readonly fleeting: boolean;
  /** Is all of that gone? */
  readonly erased: boolean;
}

/** What one run says to another. */
export interface Spoken {
  readonly text: string;
  readonly data?: Json | undefined;
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
  | { readonly kind: "childPaused" | "childResumed"; readonly run: RunId }
  | ({ readonly kind: "signal"; readonly name: string; readonly data: Json } & Pick<Spoken, "labels">)
  | {
      readonly kind: "approval";
      readonly approval: ApprovalId;
      readonly hash: string;
      readonly decision: ApprovalDecision;
    }
  | { readonly kind: "pause" | "resume" | "abortCall" }
  | { readonly kind: "cancel"; readonly reason: string };

/** What waits for one run. */
export interface InboxRecord {
  /** How many were taken so far: the cursor of the run. */
  readonly taken: number;
  /** Is the wake-up of that cursor resolved? One is enough, however many items follow. */
  readonly woken: boolean;
  readonly items: readonly InboxItem[];
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
}

/** Everybody who can be hired, by type. */
export type AgentsRecord = Readonly<Record<string, Terms>>;

/** What trees are worked on with, where that happens. */
export interface TreeHost {
  /** Everybody who can be hired here. */
  readonly agents: AgentsRecord;
  /** Is there a store to write into? */
  readonly projects: boolean;
  /** How long after its end a tree still says what does not stay. */
  readonly eraseAfterMs: number;
}

/** One live run. */
export interface RunRecord {
  readonly agentId: AgentId;
  readonly version: string;
  readonly supervision: Supervision;
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
  /** The number of the last report that was booked: a replayed run sends its reports again. */
  readonly reported: number;
  readonly crashes: number;
  /** The execution that crashed last: each counts once. */
  readonly crashedIn: string;
  /** Runs, besides the parent, that want to know when this one ends. */
  readonly watchers: readonly RunId[];
  /** The tools it may call; null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** What those above it have forbidden, or want to be asked about. */
  readonly rules: readonly PermissionRule[];
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
}

/** Where the {@link EndedRecord} of a run lies. */
export const endedKey = (run: RunId): string => `ended/${run}`;

/** Where the {@link CancelRecord} of that number lies. */
export const cancelKey = (number: number): string => `cancel/${number}`;

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
}

/** One cancel, for its receipt. */
export interface CancelRecord {
  readonly reason: string;
  readonly at: number;
  readonly runs: Readonly<Record<RunId, { readonly endedAt: number | null; readonly spentAfter: Micros }>>;
}

/** A question that is not answered: who waits for whom. */
export type AsksRecord = Readonly<Record<MessageId, { readonly from: RunId; readonly to: RunId }>>;

/** Who follows which topic. A run may do so more than once. */
export type TopicsRecord = Readonly<
  Record<TopicId, readonly { readonly run: RunId; readonly subscription: string }[]>
>;

/** What a run tells its tree of the past, numbered by the run so that a replay is told from news. */
export type Report = {
  readonly [Type in EventType]: {
    readonly number: number;
    readonly settle?: Settlement | undefined;
    readonly event?:
      | {
          readonly type: Type;
          readonly at: number;
          readonly attempt: AttemptId | null;
          readonly payload: EventPayloads[Type];
        }
      | undefined;
  };
}[EventType];

/** Names what was reported in the stream: every journal of a run numbers its reports from 1. */
export const reportPlace = (type: EventType, continuation: number, number: number): string =>
  continuation === 0 ? `${type}/${number}` : `${type}@${continuation}/${number}`;

/** What became of an attempt, as its journaled result says. */
export interface Settlement {
  readonly attempt: AttemptId;
  readonly usage: Usage | null;
  /** Another attempt of the same call follows. */
  readonly again?: boolean | undefined;
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
}

/** What goes with a run into a fresh execution besides its own state. */
export interface Carried {
  readonly labels: Labels;
  readonly notes: readonly { readonly guardrail: string; readonly note: Json }[];
}

/** What a run asks people. The tree knows the rest. */
export type Question = Pick<
  ApprovalRequest,
  "id" | "tool" | "risk" | "arguments" | "hash" | "why" | "ruleOfTwo" | "expiresAt"
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
export interface UnprojectedReply {
  readonly events: readonly NumberedEvent[];
  readonly runs: readonly ListedRun[];
  readonly retentions: Readonly<Record<RunId, HistoryRetention>>;
  readonly approvals: readonly ApprovalRecord[];
}
