import type { ApprovalDecision, ApprovalRecord, ApprovalRequest } from "./approval.ts";
import type { NumberedEvent } from "./event.ts";
import type { AgentId, ApprovalId, EntryId, RunId, SessionId, StepId, TreeId, UserId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { LimitWish } from "./limit.ts";
import type { Micros } from "./money.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Partition } from "./partition.ts";
import type { RunStatus, StopReason } from "./run-status.ts";
import type { SessionEntry, SessionHead } from "./session.ts";

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
  readonly spend: Micros;
  /** The last event of the tree that this record takes into account. */
  readonly seq: number;
}

/** Which runs to list. Absent: any. */
export interface RunFilter {
  readonly status?: RunStatus;
  readonly agentType?: string;
  readonly userId?: UserId | null;
  readonly sessionId?: SessionId;
  readonly rootsOnly?: boolean;
}

/** The read model of runs. */
export interface RunStore {
  /** Replaces a record of the same run only if it takes more events into account: an old one, late, changes nothing. */
  put(partition: Partition, run: RunRecord): Promise<void>;
  list(partition: Partition, filter: RunFilter, page: PageRequest): Promise<Page<RunRecord>>;
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
  read(partition: Partition, tree: TreeId, after: number, limit: number): Promise<readonly NumberedEvent[]>;
  /**
   * Resolves when there is something to read above `after`, with the first of it; rejects with the signal's reason. Whoever
   * tails a tree need not read again what it waited for.
   */
  changed(
    partition: Partition,
    tree: TreeId,
    after: number,
    signal: AbortSignal,
  ): Promise<readonly NumberedEvent[]>;
}

/** Conversations. The main branch is `null`, a helper's is its run. Each call that writes does all of it or nothing. */
export interface SessionStore {
  /** Idempotent: a session that is there already stays as it is. */
  open(partition: Partition, session: Omit<SessionHead, "leaf" | "forkedFrom">): Promise<void>;
  /**
   * A new session with the path from an entry to the root, all of it on the main branch, and a link back. Entries
   * keep their ids, which are unique within a session. Idempotent.
   *
   * @throws NotFoundError if there is no such entry.
   */
  fork(
    partition: Partition,
    from: { readonly session: SessionId; readonly entry: EntryId },
    into: { readonly id: SessionId; readonly startedAt: number },
  ): Promise<void>;
  head(partition: Partition, session: SessionId): Promise<SessionHead | null>;
  list(
    partition: Partition,
    filter: { readonly userId?: UserId | null },
    page: PageRequest,
  ): Promise<Page<SessionHead>>;
  /**
   * Idempotent by entry id. Moves the leaf only of the branch that a new entry is on.
   *
   * @throws NotFoundError if the session was not opened.
   */
  append(partition: Partition, session: SessionId, entries: readonly SessionEntry[]): Promise<void>;
  /** From an entry towards the root, at most `limit`, newest first. Ends where a parent is missing. */
  path(
    partition: Partition,
    session: SessionId,
    from: EntryId,
    limit: number,
  ): Promise<readonly SessionEntry[]>;
  /** Every entry of every branch, in the order they came. `after`: the last one already seen. */
  entries(
    partition: Partition,
    session: SessionId,
    after: EntryId | null,
    limit: number,
  ): Promise<readonly SessionEntry[]>;
  leaf(partition: Partition, session: SessionId, branch: RunId | null): Promise<EntryId | null>;
  /** @throws NotFoundError if the session has no such entry. */
  moveLeaf(
    partition: Partition,
    session: SessionId,
    branch: RunId | null,
    leaf: EntryId | null,
  ): Promise<void>;
  /** Removes what a helper wrote. */
  dropBranch(partition: Partition, session: SessionId, branch: RunId): Promise<void>;
}

/** Something an agent remembers of a user. */
export interface Fact {
  readonly key: string;
  readonly value: Json;
  readonly validFrom: number;
  /** When it ceases to hold. Null: until a later fact of the same key begins. */
  readonly validTo: number | null;
}

/** What stores do with {@link Fact}s. */
export const Fact = {
  /** @throws TypeError unless it ends after it begins. */
  check: ({ key, validFrom, validTo }: Fact): void => {
    if (validTo !== null && validTo <= validFrom)
      throw new TypeError(`the fact ${JSON.stringify(key)} ends at ${validTo}, but begins at ${validFrom}`);
  },
  /** Facts of one key as told, in the order of `validFrom`, as they hold: each ends where the next begins. */
  timeline: (told: readonly Fact[]): readonly Fact[] =>
    told.map((fact, index) => {
      const end = Math.min(fact.validTo ?? Infinity, told[index + 1]?.validFrom ?? Infinity);
      return { ...fact, validTo: end === Infinity ? null : end };
    }),
  /** Whether it holds at a moment. */
  holds: ({ validFrom, validTo }: Fact, at: number): boolean =>
    validFrom <= at && (validTo === null || at < validTo),
} as const;

/** Long-term memory: each user, and the anonymous one, is a partition of its own. */
export interface MemoryStore {
  /**
   * Facts of one key follow each other by `validFrom`, in whatever order they are told: each ends, at the latest,
   * where the next begins, so a back-dated one changes the past and not the present. Told again for the same
   * moment, the later word holds.
   *
   * @throws TypeError unless it ends after it begins.
   */
  remember(partition: Partition, user: UserId | null, fact: Fact): Promise<void>;
  /** By key, then by time. `at`: only what holds then. */
  recall(
    partition: Partition,
    user: UserId | null,
    query: { readonly key?: string; readonly at?: number },
  ): Promise<readonly Fact[]>;
}

/** Which approvals to list. Absent: any. */
export interface ApprovalFilter {
  readonly state?: "pending" | "decided";
  readonly treeId?: TreeId;
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

/** The audit chain of each tenant. Hashes are the writer's business: a store keeps the links together. */
export interface AuditStore {
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
  head(partition: Partition): Promise<AuditHead | null>;
}

/** What the prompt of one model step was made of, so that it can be shown again. */
export interface PromptManifest {
  readonly runId: RunId;
  readonly stepId: StepId;
  readonly at: number;
  /** Entry ids, hashes of sections, what was added or replaced. */
  readonly parts: Json;
}

/** The prompts of model steps. */
export interface ManifestStore {
  /** Idempotent by step: the first one stays. */
  put(partition: Partition, manifest: PromptManifest): Promise<void>;
  get(partition: Partition, step: StepId): Promise<PromptManifest | null>;
  /** Of a run, oldest first. */
  list(partition: Partition, run: RunId): Promise<readonly PromptManifest[]>;
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
  take(partition: Partition, key: string, wish: LimitWish, now: number): Promise<number>;
  /** Takes more than is left, or with less than zero gives back: what was used turned out to differ. */
  correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void>;
  /** Nobody takes anything before a moment. The latest one holds. */
  slow(partition: Partition, key: string, until: number): Promise<void>;
}

/** Answers that may be given again. May forget any of them at any time. */
export interface CacheStore {
  /** Undefined: not there, or past its time. */
  get(partition: Partition, key: string, now: number): Promise<Json | undefined>;
  put(partition: Partition, key: string, value: Json, until: number): Promise<void>;
}

/** What an API key may do. `admin` may do everything. */
export type ApiKeyScope = "read" | "run" | "approve" | "admin";

/** An API key as it is kept: nobody can make the key of it. */
export interface ApiKeyRecord {
  /** The part of the key that is no secret. */
  readonly id: string;
  /** SHA-256 of the whole key, in hex. A key is 256 random bits, so nothing slower is needed. */
  readonly hash: string;
  /** Whose data it opens. Null: those of nobody in particular. */
  readonly tenant: string | null;
  readonly scopes: readonly ApiKeyScope[];
  /** Milliseconds since 1970; it is refused from then on. */
  readonly expiresAt: number;
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
  readonly approvals: ApprovalStore;
  readonly audit: AuditStore;
  readonly manifests: ManifestStore;
  readonly keys: KeyStore;
  readonly workers: WorkerStore;
  readonly apiKeys: ApiKeyStore;
  readonly limits: LimitStore;
  /**
   * Removes the user's facts, sessions and runs, with the events, approvals and manifests of their trees, and destroys
   * these trees' keys. The audit stays: taking a link away would break its chain.
   */
  eraseUser(partition: Partition, user: UserId | null): Promise<void>;
}
