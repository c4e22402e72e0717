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
import type { LimitWish } from "./limit.ts";
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
  /** Money of the run and everything it hired: settled and in doubt. */
  readonly costMicros: Micros;
  /** The part of `costMicros` for calls whose outcome is not known. */
  readonly inDoubtMicros: Micros;
  /** The ceilings of calls in flight, on top of it. */
  readonly reservedMicros: Micros;
  /** The limit of this money; of a root, also the tree's. Null: none. */
  readonly maxCostMicros: Micros | null;
  /** The name that a root was started with; null: none. */
  readonly name: string | null;
  /** The runs of the tree so far, and those of them that have not ended. Null for runs that are no root. */
  readonly agents: number | null;
  readonly liveAgents: number | null;
  /** The last event of the tree that this record takes into account. */
  readonly seq: number;
}

/** Which runs to list. Absent: any. */
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

/** Which trees to find, by one of these, in the order of what they are found by. */
export type TreeSearch =
  /** The beginning of the id; by id. */
  | { readonly id: string }
  /** The beginning of the name; by name. */
  | { readonly name: string }
  /** The least that it cost; the dearest first. */
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
  /** Replaces a record of the same run only if it takes more events into account: an old one, late, changes nothing. */
  put(partition: Partition, run: RunRecord): Promise<void>;
  list(partition: Partition, filter: RunFilter, page: PageRequest): Promise<Page<RunRecord>>;
  /** Roots that are found by a beginning or an amount. */
  search(partition: Partition, search: TreeSearch, page: PageRequest): Promise<Page<RunRecord>>;
  /** Sums over the trees that have not ended: all, or those of a user. */
  live(partition: Partition, filter: { readonly userId?: UserId }): Promise<LiveTotals>;
  /** Every run of a tree, in the order of their numbers. */
  tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]>;
}

/** The event streams of trees. Never numbers: the sequence comes from the tree. */
export interface EventStore {
  /**
   * Idempotent by (tree, seq): the first one stays. What is `fleeting` need not be readable once the key of the tree is
   * destroyed. Default: none is.
   */
  append(
    partition: Partition,
    tree: TreeId,
    events: readonly NumberedEvent[],
    isFleeting?: (event: NumberedEvent) => boolean,
  ): Promise<void>;
  /** Puts events in the place of those with the same sequence, to last. Tells nobody. */
  rewrite(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void>;
  /**
   * Events with a sequence above `after`, in order, up to the first that is missing. So a reader never passes an
   * event that another writer is about to append.
   */
  read(
    partition: Partition,
    tree: TreeId,
    range: { readonly after: number; readonly limit: number },
  ): Promise<readonly NumberedEvent[]>;
  /**
   * Resolves when there is something to read above `after`, with the first of it; rejects with the signal's reason. Whoever
   * tails a tree need not read again what it waited for.
   */
  changed(
    partition: Partition,
    tree: TreeId,
    options: { readonly after: number; readonly signal: AbortSignal },
  ): Promise<readonly NumberedEvent[]>;
  /**
   * Yields at once, and then whenever events of any tree of the partition may have been appended since the yield before:
   * many appends are one. The runs and approvals that were written before those events can be read by then. Rejects with
   * the signal's reason.
   */
  changes(partition: Partition, options: { readonly signal: AbortSignal }): AsyncGenerator<void, void>;
}

/** Which sessions to list. Absent: any. */
export interface SessionFilter {
  readonly userId?: UserId | null;
  readonly agentId?: AgentId;
  /** Also those whose id no caller chose. Default: false. */
  readonly unnamed?: boolean;
}

/** A session to open. */
export type NewSession = Omit<SessionHead, "leaf" | "forkedFrom" | "updatedAt">;

/** A session to fork into. It has the user, agent and channel of its source. Default: no title, no metadata. */
export type NewFork = Pick<SessionHead, "id" | "startedAt"> &
  Partial<Pick<SessionHead, "title" | "metadata">>;

/**
 * Conversations. The main branch is `null`, a run's is its id. A turn is written on the branch of its root run, and
 * becomes part of the main one when it is adopted. Each call that writes does all of it or nothing.
 */
export interface SessionStore {
  /** Idempotent: a session that is there already stays as it is. */
  open(partition: Partition, session: NewSession): Promise<void>;
  /**
   * A new session of the same user with the path from an entry to the root, all of it on the main branch, and a link
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
  /** Newest first, by `startedAt`. */
  list(partition: Partition, filter: SessionFilter, page: PageRequest): Promise<Page<SessionHead>>;
  /** Gives it another title; null takes it away. @throws NotFoundError if the session was not opened. */
  rename(partition: Partition, session: SessionKey, title: string | null): Promise<void>;
  /** Removes the whole conversation, what it owns in memory, and its episodes from the index. Idempotent. */
  remove(partition: Partition, session: SessionKey): Promise<void>;
  /**
   * Idempotent by entry id. Moves the leaf only of the branch that a new entry is on.
   *
   * @throws NotFoundError if the session was not opened.
   */
  append(partition: Partition, session: SessionKey, entries: readonly SessionEntry[]): Promise<void>;
  /**
   * Makes a branch part of the main one and moves the main leaf to its end. Returns the main leaf. Without such a
   * branch, or if the branch ends with another entry than `leaf`, nothing changes: an execution that was left behind
   * must not adopt half of the next turn.
   *
   * Drops the branches of other root runs. Only one root at a time has the turn, so a process that is gone left them.
   */
  adopt(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    /** Default: any. */
    leaf?: EntryId,
  ): Promise<EntryId | null>;
  /** From an entry towards the root, at most `limit`, newest first. Ends where a parent is missing. */
  path(
    partition: Partition,
    session: SessionKey,
    range: { readonly from: EntryId; readonly limit: number },
  ): Promise<readonly SessionEntry[]>;
  /** Every entry of every branch, in the order they came. `after`: the last one already seen. */
  entries(
    partition: Partition,
    session: SessionKey,
    range: { readonly after: EntryId | null; readonly limit: number },
  ): Promise<readonly SessionEntry[]>;
  leaf(partition: Partition, session: SessionKey, branch: RunId | null): Promise<EntryId | null>;
  /** @throws NotFoundError if the session has no such entry. */
  moveLeaf(
    partition: Partition,
    session: SessionKey,
    move: { readonly branch: RunId | null; readonly leaf: EntryId | null },
  ): Promise<void>;
  /** Removes the entries of a run that were not adopted. */
  dropBranch(partition: Partition, session: SessionKey, branch: RunId): Promise<void>;
}

/** Which approvals to list. Absent: any. */
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

/** Questions to people, for those who look for them. */
export interface ApprovalStore {
  /** Idempotent by id. */
  request(partition: Partition, approval: ApprovalRequest): Promise<void>;
  /** The first decision stays: returns the record as it then stands. @throws NotFoundError */
  decide(partition: Partition, id: ApprovalId, decision: ApprovalDecision): Promise<ApprovalRecord>;
  list(partition: Partition, filter: ApprovalFilter, page: PageRequest): Promise<Page<ApprovalRecord>>;
  /** Removes arguments and words of every question of a tree; who decided what stays. */
  erase(partition: Partition, tree: TreeId): Promise<void>;
}

/** One link of a tenant's audit chain. */
export interface AuditEntry {
  /** 0, 1, 2 and so on. */
  readonly index: number;
  readonly at: number;
  readonly kind: string;
  readonly data: Json;
  /** What it tells of. No two links of a tenant have the same. */
  readonly source: string;
  /** The key of its hash. */
  readonly keyId: string;
  /** The hash of the link before; empty in the first. */
  readonly previous: string;
  readonly hash: string;
}

/** The last link of a chain, and so all of it: kept elsewhere, it shows later that nothing was cut off. */
export type AuditHead = Pick<AuditEntry, "index" | "hash">;

/** The links of a list of the audit. */
export interface AuditFilter {
  readonly kind?: string;
  /** The beginning of the sources, such as `books/` for the events of the tree `books`. */
  readonly sourcePrefix?: string;
  /** Only links before this index. Default: all. */
  readonly before?: number;
}

/** The outcome of the last verification of a chain. Its hash is the writer's business, as with links. */
export interface AuditCheck {
  readonly at: number;
  readonly body: Json;
  /** The key of its hash. */
  readonly keyId: string;
  readonly hash: string;
}

/** The audit chain of each tenant. Hashes are the writer's business: a store keeps the links together. */
export interface AuditStore {
  /** False: it keeps no link, so none is made for it. Default: true. */
  readonly keeps?: boolean;
  /**
   * Adds links, all or none. Those that are there already, given again, change nothing.
   *
   * @throws AuditChainError if they do not follow the head and each other, or tell of what another link tells of.
   */
  append(partition: Partition, links: readonly AuditEntry[]): Promise<void>;
  /** Which of these sources a link tells of. */
  known(partition: Partition, sources: readonly string[]): Promise<readonly string[]>;
  /** From an index on. */
  read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]>;
  /** Newest first. */
  list(partition: Partition, filter: AuditFilter, limit: number): Promise<readonly AuditEntry[]>;
  head(partition: Partition): Promise<AuditHead | null>;
  /** The check that was kept last; null: none was. */
  check(partition: Partition): Promise<AuditCheck | null>;
  /** Keeps a check in place of the one before. An older one changes nothing. */
  keepCheck(partition: Partition, check: AuditCheck): Promise<void>;
}

/** The stored manifest of a step, for its last attempt in one execution. */
export interface ManifestRecord {
  readonly runId: RunId;
  readonly stepId: StepId;
  readonly attempt: AttemptId;
  readonly at: number;
  /** Whether it outlives the key of its tree. */
  readonly lasts: boolean;
  /** A `StepManifest`; null: it was erased. */
  readonly body: Json;
}

/** The content of a part, kept once for a tree. */
export interface ManifestText {
  /** As the parts have it. */
  readonly hash: string;
  readonly text: string;
}

/** Manifests of model and tool steps, and the texts that they name. */
export interface ManifestStore {
  /**
   * Writes a manifest and texts of its tree, all or nothing. Idempotent, by step and attempt and by hash: the first one
   * stays, but one that lasts replaces one that does not.
   */
  put(partition: Partition, manifest: ManifestRecord, texts: readonly ManifestText[]): Promise<void>;
  /** Writes texts of a tree. Idempotent by hash: the first one stays. */
  putTexts(
    partition: Partition,
    tree: TreeId,
    texts: { readonly texts: readonly ManifestText[]; readonly lasts: boolean },
  ): Promise<void>;
  /** Every manifest of a step, oldest first. */
  get(partition: Partition, step: StepId): Promise<readonly ManifestRecord[]>;
  /** The manifests of a run, oldest first. */
  list(partition: Partition, run: RunId, page: PageRequest): Promise<Page<ManifestRecord>>;
  /** The texts with these hashes that are there. */
  texts(
    partition: Partition,
    tree: TreeId,
    query: { readonly hashes: readonly string[]; readonly lasts: boolean },
  ): Promise<readonly ManifestText[]>;
  /** Removes the bodies of manifests and the texts of a tree that do not last. */
  erase(partition: Partition, tree: TreeId): Promise<void>;
}

/** A key that only its wrapping key, kept elsewhere, can open. */
export interface WrappedKey {
  readonly id: string;
  readonly wrapped: Uint8Array;
}

/** Wrapped keys: one for each tree, and one of the tenant itself, which is the tree `null`. */
export interface KeyStore {
  /**
   * The first one stays, but the same one may be wrapped anew: returns the key that is kept. @throws KeyDestroyedError
   */
  put(partition: Partition, tree: TreeId | null, key: WrappedKey): Promise<WrappedKey>;
  /** Null if there never was one. @throws KeyDestroyedError */
  get(partition: Partition, tree: TreeId | null): Promise<WrappedKey | null>;
  /** For ever, also if there never was one: no key can be put in its place. */
  destroy(partition: Partition, tree: TreeId | null): Promise<void>;
}

/** A process that executes runs. */
export interface WorkerRecord {
  readonly id: string;
  /** Where the pieces of its models' answers can be watched. */
  readonly url: string;
  readonly expiresAt: number;
}

/** The workers that live. They belong to no tenant, and nothing here is content. */
export interface WorkerStore {
  /** Puts it on the list, or prolongs its stay; takes off those that had expired by then. */
  announce(worker: WorkerRecord, at: number): Promise<void>;
  /** Those that have not expired by then, in the order of their ids. */
  list(at: number): Promise<readonly WorkerRecord[]>;
  withdraw(id: string): Promise<void>;
}

/** Limits that processes share, such as a provider's. Moments are the caller's: clocks may differ a little. */
export interface LimitStore {
  /**
   * Takes all of a wish, or nothing: 0, or the milliseconds until another try is worth it. One whose answer was lost may
   * count twice: never too little.
   */
  take(
    partition: Partition,
    key: string,
    request: { readonly wish: LimitWish; readonly now: number },
  ): Promise<number>;
  /** Takes more than is left, or with less than zero gives back: what was used turned out to differ. */
  correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void>;
  /** Nobody takes anything before a moment. The latest one holds. */
  slow(partition: Partition, key: string, until: number): Promise<void>;
}

/** API keys. Whose a key is follows from the key, so it is found without naming a tenant. */
export interface ApiKeyStore {
  /** Idempotent by id: the first one stays. */
  put(key: ApiKeyRecord): Promise<void>;
  find(id: string): Promise<ApiKeyRecord | null>;
  /** Those of a tenant, in the order of their ids. */
  list(tenant: string | null): Promise<readonly ApiKeyRecord[]>;
  /** For good. One of another tenant stays. */
  revoke(tenant: string | null, id: string): Promise<void>;
}

/**
 * What must outlive a run, or be listed, searched and tailed. Every write may be made again without harm, so whoever
 * does not know whether one came through repeats it.
 */
export interface Store extends AsyncDisposable {
  /** Whether it outlives this process, and other processes see the same. */
  readonly lasts: boolean;
  readonly runs: RunStore;
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly memory: MemoryStore;
  /** Vectors of memory. Null: none are kept, because a vector tells of its text and this store seals texts. */
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
   * Removes the user's memory, sessions and runs, with the events, approvals, manifests and cached answers of their trees, destroys
   * these trees' keys and revokes the API keys that are bound to the user. The audit stays: taking a link away would break its chain.
   * The money of these trees stays in the sums of the tenant, under no user and no tree.
   */
  eraseUser(partition: Partition, user: UserId | null): Promise<void>;
}
