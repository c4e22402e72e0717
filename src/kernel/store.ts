import type { ApiKeyRecord } from "./api-key.ts";
import type { ApprovalDecision, ApprovalRecord, ApprovalRequest } from "./approval.ts";
import type { CacheStore } from "./cache.ts";
import type { NumberedEvent } from "./event.ts";
import type {
  AgentId,
  ApprovalId,
  AttemptId,
  EntryId,
  RunId,
  SessionId,
  StepId,
  TreeId,
  UserId,
} from "./ids.ts";
import type { Json } from "./json.ts";
import type { RateRequest } from "./limit.ts";
import type { VectorStore } from "./embedder.ts";
import type { MemoryStore } from "./memory.ts";
import type { Micros } from "./money.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Partition } from "./partition.ts";
import type { Risk } from "./permission.ts";
import type { RunStatus, StopReason } from "./run-status.ts";
import type { SessionEntry, SessionHead, SessionKey } from "./session.ts";
import type { SpendStore } from "./spend.ts";
import type { WebhookStore } from "./webhook.ts";

/** One run, as lists show it. */
export interface RunRecord {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agentId: AgentId;
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly status: RunStatus;
  readonly stopReason: StopReason | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Cost of the run and its descendants: settled and in doubt. */
  readonly costMicros: Micros;
  /** The part of `costMicros` for calls whose outcome is unknown. */
  readonly inDoubtMicros: Micros;
  /** Additional ceilings of calls in flight. */
  readonly reservedMicros: Micros;
  /** The limit of this cost; for a root, also the tree's. Null: none. */
  readonly maxCostMicros: Micros | null;
  /** The name that a root was started with. Null: none. */
  readonly name: string | null;
  /** Number of runs of the tree. `liveAgents` counts those that have not ended. Null for runs that are not a root. */
  readonly agents: number | null;
  readonly liveAgents: number | null;
  /** The last event of the tree that this record covers. */
  readonly seq: number;
}

/** A filter of runs. Absent fields match any. */
export interface RunFilter {
  /** One status, or any of several. */
  readonly status?: RunStatus | readonly RunStatus[];
  /** One reason, or any of several. */
  readonly stopReason?: StopReason | readonly StopReason[];
  /** Runs that started at or after `since`, and before `until`. */
  readonly since?: number;
  readonly until?: number;
  readonly agentType?: string;
  readonly userId?: UserId | null;
  readonly sessionId?: SessionId;
  readonly rootsOnly?: boolean;
  /** Only these. */
  readonly runIds?: readonly RunId[];
}

/** A search for trees by one field. Results are in the order of that field. */
export type TreeSearch =
  /** Prefix of the id; ordered by id. */
  | { readonly id: string }
  /** Prefix of the name; ordered by name. */
  | { readonly name: string }
  /** Minimum cost; highest first. */
  | { readonly minCostMicros: Micros };

/** Sums over the trees that have not ended. */
export interface LiveTotals {
  readonly trees: number;
  readonly agents: number;
  /** Settled and in doubt. */
  readonly costMicros: Micros;
  readonly inDoubtMicros: Micros;
  readonly reservedMicros: Micros;
}

/** The read model of runs. */
export interface RunStore {
  /**
   * Writes a record. Replaces a record of the same run only if it covers more events: a late, older one changes
   * nothing.
   */
  put(partition: Partition, run: RunRecord): Promise<void>;
  list(partition: Partition, filter: RunFilter, page: PageRequest): Promise<Page<RunRecord>>;
  /** Finds roots by a prefix or an amount. */
  search(partition: Partition, search: TreeSearch, page: PageRequest): Promise<Page<RunRecord>>;
  /** Returns sums over the trees that have not ended: all, or those of a user. */
  live(partition: Partition, filter: { readonly userId?: UserId }): Promise<LiveTotals>;
  /** Returns every run of a tree, in the order of their numbers. */
  tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]>;
}

/** The event streams of trees. The store never assigns numbers: the tree does. */
export interface EventStore {
  /**
   * Appends events. Idempotent by (tree, seq): the first one stays. Events that `isErasable` selects need not be
   * readable once the key of the tree is destroyed. Default: none.
   */
  append(
    partition: Partition,
    tree: TreeId,
    events: readonly NumberedEvent[],
    isErasable?: (event: NumberedEvent) => boolean,
  ): Promise<void>;
  /** Replaces events with the same sequence by lasting ones. Notifies no subscriber. */
  rewrite(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void>;
  /**
   * Returns events with a sequence above `after`, in order, up to the first gap. So a reader never skips an event that
   * another writer is about to append. Events of earlier protocols have the present names, see `upgradeEvent`.
   */
  read(
    partition: Partition,
    tree: TreeId,
    range: { readonly after: number; readonly limit: number },
  ): Promise<readonly NumberedEvent[]>;
  /**
   * Resolves when there are events above `after`, and returns the first of them. A reader that tails a tree need not
   * read those again. Rejects with the signal's reason.
   */
  waitForEvents(
    partition: Partition,
    tree: TreeId,
    options: { readonly after: number; readonly signal: AbortSignal },
  ): Promise<readonly NumberedEvent[]>;
  /**
   * Yields immediately, then whenever events of any tree of the partition may have been appended since the last yield.
   * Several appends may be one yield. Runs and approvals written before those events are readable by then. Rejects with
   * the signal's reason.
   */
  changes(partition: Partition, options: { readonly signal: AbortSignal }): AsyncGenerator<void, void>;
}

/** A filter of sessions. Absent fields match any. */
export interface SessionFilter {
  readonly userId?: UserId | null;
  readonly agentId?: AgentId;
  /** Whether sessions with a generated id are included. Default: false. */
  readonly unnamed?: boolean;
}

/** A session to open. */
export type NewSession = Omit<SessionHead, "leaf" | "forkedFrom" | "updatedAt">;

/** A session to fork into. It gets the user, agent and channel of its source. Default: no title, no metadata. */
export type NewFork = Pick<SessionHead, "id" | "startedAt"> &
  Partial<Pick<SessionHead, "title" | "metadata">>;

/** The condition of an append. */
export interface AppendFence {
  /** The entry that must be the leaf of the entries' branch. Default: any. */
  readonly follows?: EntryId | null;
  /** The root run whose turn writes the entries. Default: only that of their branch. */
  readonly turn?: RunId;
}

/** A turn on its branch that is to join the main one. */
export interface Adoption {
  /** The newest entry of the turn. */
  readonly last: EntryId;
  /** The entry that must be the main leaf: the one that was it when the turn began. Null: there was none. */
  readonly follows: EntryId | null;
  /** The entry that the turn begins below. Default: `follows`. Others for a turn that went back. */
  readonly from?: EntryId | null;
}

/**
 * The outcome of an adoption. `incomplete`: the branch lacks entries of the turn, or has more. `overtaken`: the main leaf
 * is another one by now. `settled`: the turn is over.
 */
export type AdoptionOutcome = "adopted" | "incomplete" | "overtaken" | "settled";

/** The end of a turn that was not adopted. */
export interface Settlement {
  /** The entry that closes the turn, which then joins the main branch. Null: the turn is dropped. Its parent is ignored. */
  readonly end: SessionEntry | null;
  /** Whether the turn began below an earlier entry than the main leaf. Default: false. */
  readonly goesBack?: boolean;
}

/** A move of a leaf. */
export interface LeafMove {
  readonly branch: RunId | null;
  readonly leaf: EntryId | null;
  /** The leaf that it must be moved from. Default: any. */
  readonly from?: EntryId | null;
}

/**
 * Conversations. The main branch is `null`; the branch of a run is the run's id. A turn is written on the branch of its
 * root run, and joins the main branch when it is adopted. Every write is all or nothing, and may be repeated.
 *
 * Several processes may write at once, and a write may arrive long after its turn has ended. So a write that depends on
 * what its caller has read names that, and changes nothing if it no longer holds.
 */
export interface SessionStore {
  /**
   * Opens a session, for the turn of a root run if one is given: nothing is opened for a turn whose tree was erased.
   * Idempotent: an existing session stays unchanged.
   */
  open(partition: Partition, session: NewSession, turn?: RunId): Promise<void>;
  /**
   * Creates a session of the same user with the path from an entry to the root, all on the main branch, and a link
   * back. Entries keep their ids, which are unique within a session. Idempotent.
   *
   * @throws NotFoundError if there is no such entry.
   */
  fork(
    partition: Partition,
    from: { readonly session: SessionKey; readonly entry: EntryId },
    into: NewFork,
  ): Promise<void>;
  head(partition: Partition, session: SessionKey): Promise<SessionHead | null>;
  /** Lists sessions, newest first, by `startedAt`. */
  list(partition: Partition, filter: SessionFilter, page: PageRequest): Promise<Page<SessionHead>>;
  /** Sets the title; null removes it. @throws NotFoundError if the session was not opened. */
  rename(partition: Partition, session: SessionKey, title: string | null): Promise<void>;
  /** Removes the conversation, its memory, and its episodes from the index. Idempotent. */
  remove(partition: Partition, session: SessionKey): Promise<void>;
  /**
   * Appends entries. Idempotent by entry id. Moves only the leaf of the branch that a new entry is on.
   * Returns false, and changes nothing, if the turn is settled, its tree was erased, or another entry than `follows` is
   * the leaf.
   *
   * @throws NotFoundError if the session was not opened.
   */
  append(
    partition: Partition,
    session: SessionKey,
    entries: readonly SessionEntry[],
    fence?: AppendFence,
  ): Promise<boolean>;
  /**
   * Merges the branch of a root run into the main one, and moves the main leaf to its end. Changes nothing unless the
   * main leaf is the one that the turn follows, and the path from the last entry of the turn leads to its beginning
   * without a gap. `adopted` for a turn that was adopted before. Changes no other branch.
   */
  adopt(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    adoption: Adoption,
  ): Promise<AdoptionOutcome>;
  /**
   * Ends the turn of a root run: later appends to its branch, and its adoption, are refused for good. The entries that
   * were not adopted join the main branch, closed by `end`, or are dropped. Returns false, and changes nothing, if they
   * cannot join it: they have a gap, or the main leaf is another one by now. Changes no other branch. Nothing happens to
   * a turn that is settled, or to a session that was not opened.
   */
  settle(partition: Partition, session: SessionKey, branch: RunId, settlement: Settlement): Promise<boolean>;
  /** Returns entries from one entry towards the root, at most `limit`, newest first. Ends where a parent is missing. */
  path(
    partition: Partition,
    session: SessionKey,
    range: { readonly from: EntryId; readonly limit: number },
  ): Promise<readonly SessionEntry[]>;
  /** Returns every entry of every branch, in the order of arrival. `after`: the last one already seen. */
  entries(
    partition: Partition,
    session: SessionKey,
    range: { readonly after: EntryId | null; readonly limit: number },
  ): Promise<readonly SessionEntry[]>;
  leaf(partition: Partition, session: SessionKey, branch: RunId | null): Promise<EntryId | null>;
  /**
   * Moves a leaf. Returns false, and changes nothing, if the leaf is neither `from` nor moved already. @throws
   * NotFoundError if the session has no such entry.
   */
  moveLeaf(partition: Partition, session: SessionKey, move: LeafMove): Promise<boolean>;
}

/** A filter of approvals. Absent fields match any. */
export interface ApprovalFilter {
  readonly state?: "pending" | "decided";
  readonly treeId?: TreeId;
  /** Only trees that work for this user, by the records of their runs. */
  readonly userId?: UserId;
  /** The type of the agent that asks. */
  readonly agentType?: string;
  readonly tool?: string;
  readonly risk?: Risk;
}

/** The read model of approvals. */
export interface ApprovalStore {
  /** Stores a request. Idempotent by id. */
  request(partition: Partition, approval: ApprovalRequest): Promise<void>;
  /** Records a decision. The first decision stays. Returns the resulting record. @throws NotFoundError */
  decide(partition: Partition, id: ApprovalId, decision: ApprovalDecision): Promise<ApprovalRecord>;
  list(partition: Partition, filter: ApprovalFilter, page: PageRequest): Promise<Page<ApprovalRecord>>;
  /** Removes the content of every request of a tree. Decisions and deciders stay. */
  erase(partition: Partition, tree: TreeId): Promise<void>;
}

/** One link of a tenant's audit chain. */
export interface AuditEntry {
  /** 0, 1, 2 and so on. */
  readonly index: number;
  readonly at: number;
  readonly kind: string;
  readonly data: Json;
  /** Identity of the recorded event. Unique among the links of a tenant. */
  readonly source: string;
  /** The key of its hash. */
  readonly keyId: string;
  /** The hash of the previous link. Empty in the first. */
  readonly previous: string;
  readonly hash: string;
}

/**
 * The last link of a chain. It commits to the whole chain: a copy kept elsewhere later proves that nothing was cut off.
 */
export type AuditHead = Pick<AuditEntry, "index" | "hash">;

/** A filter of audit links. */
export interface AuditFilter {
  readonly kind?: string;
  /** Prefix of the sources, such as `books/` for the events of the tree `books`. */
  readonly sourcePrefix?: string;
  /** Only links before this index. Default: all. */
  readonly before?: number;
}

/** The outcome of the last verification of a chain. The writer computes its hash, as for links. */
export interface AuditCheck {
  readonly at: number;
  readonly body: Json;
  /** The key of its hash. */
  readonly keyId: string;
  readonly hash: string;
}

/** The audit chain of each tenant. The writer computes hashes; the store only keeps the order of the links. */
export interface AuditStore {
  /** Whether the store keeps links. If false, none are made. Default: true. */
  readonly keeps?: boolean;
  /**
   * Appends links, all or none. Links that are present already change nothing.
   *
   * @throws AuditChainError if they do not follow the head and each other, or repeat the source of another link.
   */
  append(partition: Partition, links: readonly AuditEntry[]): Promise<void>;
  /** Returns those of the sources that have a link. */
  findRecorded(partition: Partition, sources: readonly string[]): Promise<readonly string[]>;
  /** Returns links from an index on. */
  read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]>;
  /** Lists links, newest first. */
  list(partition: Partition, filter: AuditFilter, limit: number): Promise<readonly AuditEntry[]>;
  head(partition: Partition): Promise<AuditHead | null>;
  /** Returns the latest stored check. Null: none. */
  check(partition: Partition): Promise<AuditCheck | null>;
  /** Stores a check, replacing the previous one. An older check changes nothing. */
  keepCheck(partition: Partition, check: AuditCheck): Promise<void>;
}

/** The stored manifest of a step, for its last attempt in one execution. */
export interface ManifestRecord {
  readonly runId: RunId;
  readonly stepId: StepId;
  readonly attempt: AttemptId;
  readonly at: number;
  /** Whether it outlives the key of its tree. */
  readonly isPermanent: boolean;
  /** A `StepManifest`. Null: it was erased. */
  readonly body: Json;
}

/** The content of a part, stored once per tree. */
export interface ManifestText {
  /** Hash as in the manifest's parts. */
  readonly hash: string;
  readonly text: string;
}

/** Manifests of model and tool steps, and the texts that they name. */
export interface ManifestStore {
  /**
   * Writes a manifest and texts of its tree, all or nothing. Idempotent, by step and attempt and by hash. The first one
   * stays, but a permanent one replaces one that is not.
   */
  put(partition: Partition, manifest: ManifestRecord, texts: readonly ManifestText[]): Promise<void>;
  /** Writes texts of a tree. Idempotent by hash: the first one stays. */
  putTexts(
    partition: Partition,
    tree: TreeId,
    texts: { readonly texts: readonly ManifestText[]; readonly isPermanent: boolean },
  ): Promise<void>;
  /** Returns every manifest of a step, oldest first. */
  get(partition: Partition, step: StepId): Promise<readonly ManifestRecord[]>;
  /** Lists the manifests of a run, oldest first. */
  list(partition: Partition, run: RunId, page: PageRequest): Promise<Page<ManifestRecord>>;
  /** Returns the present texts with these hashes. */
  texts(
    partition: Partition,
    tree: TreeId,
    query: { readonly hashes: readonly string[]; readonly isPermanent: boolean },
  ): Promise<readonly ManifestText[]>;
  /** Removes the manifest bodies and texts of a tree that are not permanent. */
  erase(partition: Partition, tree: TreeId): Promise<void>;
  /** Removes the texts of a tree with these hashes, permanent ones included. */
  eraseTexts(partition: Partition, tree: TreeId, hashes: readonly string[]): Promise<void>;
}

/** A key encrypted with a wrapping key that is kept elsewhere. */
export interface WrappedKey {
  readonly id: string;
  readonly wrapped: Uint8Array;
}

/** Wrapped keys: one per tree, and one of the tenant itself, under the tree `null`. */
export interface KeyStore {
  /**
   * Stores a key. The first key stays, but it may be replaced by the same key in a new wrapping. Returns the stored
   * key. @throws KeyDestroyedError
   */
  put(partition: Partition, tree: TreeId | null, key: WrappedKey): Promise<WrappedKey>;
  /** Returns a key. Null if there never was one. @throws KeyDestroyedError */
  get(partition: Partition, tree: TreeId | null): Promise<WrappedKey | null>;
  /** Destroys a key permanently, even if there never was one: no key can be put in its place. */
  destroy(partition: Partition, tree: TreeId | null): Promise<void>;
}

/** The state of the writes of a process to the store. */
export interface StoreHealth {
  /** Age of the oldest event or order that the process has and has not yet written. 0: it has written all of them. */
  readonly lagMs: number;
  /** Number of failures in a row of the write that has failed most often. 0: none fails. */
  readonly failedWrites: number;
  /** Number of trees that the process has stored in reduced form, because the store rejected a value of theirs. */
  readonly reducedTrees: number;
}

/** A process that executes runs. */
export interface WorkerRecord extends StoreHealth {
  readonly id: string;
  /** URL of the worker's live text stream. */
  readonly url: string;
  readonly expiresAt: number;
}

/** The live workers. They belong to no tenant, and nothing here is content. */
export interface WorkerStore {
  /** Adds a worker, or extends its lease. Removes workers that have expired by then. */
  announce(worker: WorkerRecord, at: number): Promise<void>;
  /** Lists workers that have not expired by then, in the order of their ids. */
  list(at: number): Promise<readonly WorkerRecord[]>;
  withdraw(id: string): Promise<void>;
}

/** Rate limits that processes share, such as a provider's. The caller gives the time: clocks may differ slightly. */
export interface LimitStore {
  /**
   * Takes all of a request, or nothing. Returns 0, or the milliseconds until a retry makes sense. A request whose reply
   * was lost may count twice, never too little.
   */
  take(
    partition: Partition,
    key: string,
    request: { readonly rate: RateRequest; readonly now: number },
  ): Promise<number>;
  /** Books the difference to the real usage: positive amounts take more, negative ones give back. */
  correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void>;
  /** Blocks all requests until a moment. The latest moment wins. */
  slow(partition: Partition, key: string, until: number): Promise<void>;
}

/** API keys. The key determines its tenant, so it is found without naming one. */
export interface ApiKeyStore {
  /** Stores a key. Idempotent by id: the first one stays. */
  put(key: ApiKeyRecord): Promise<void>;
  find(id: string): Promise<ApiKeyRecord | null>;
  /** Lists the keys of a tenant, in the order of their ids. */
  list(tenant: string | null): Promise<readonly ApiKeyRecord[]>;
  /** Revokes a key permanently. A key of another tenant stays. */
  revoke(tenant: string | null, id: string): Promise<void>;
}

/**
 * Storage for data that outlives a run, or that is listed, searched and tailed. Every write is idempotent, so a caller
 * that is unsure whether one succeeded repeats it. A write that can never succeed, because of its values, fails with a
 * `StoreRejectionError`.
 */
export interface Store extends AsyncDisposable {
  /** Whether the data outlives this process and is shared with other processes. */
  readonly durable: boolean;
  readonly runs: RunStore;
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly memory: MemoryStore;
  /** Vectors of memory. Null: none are stored, because a vector reveals its text and this store seals texts. */
  readonly vectors: VectorStore | null;
  readonly approvals: ApprovalStore;
  readonly audit: AuditStore;
  readonly manifests: ManifestStore;
  readonly keys: KeyStore;
  readonly workers: WorkerStore;
  readonly apiKeys: ApiKeyStore;
  readonly limits: LimitStore;
  readonly cache: CacheStore;
  readonly webhooks: WebhookStore;
  readonly spend: SpendStore;
  /**
   * Erases all manifests, texts and cached answers of an ended tree, permanent ones included, and destroys its key. Later
   * writes of its content are ignored, for example by a process that was frozen. Runs, events and approvals stay as they
   * are: erase their content first. Idempotent.
   */
  eraseTree(partition: Partition, tree: TreeId): Promise<void>;
  /** Whether the tree was erased, alone or with its user. */
  isErased(partition: Partition, tree: TreeId): Promise<boolean>;
  /**
   * Removes the user's memory, sessions and runs, with the events, approvals, manifests and cached answers of their
   * trees. Destroys these trees' keys, and revokes API keys bound to the user. Later writes of these trees are ignored.
   * The audit stays, because removing a link would break its chain. The cost of these trees stays in the tenant's sums,
   * without user and tree.
   */
  eraseUser(partition: Partition, user: UserId | null): Promise<void>;
}
