import type { NumberedEvent } from "./event.ts";
import type { AgentId, EntryId, RunId, SessionId, TenantId, TreeId, UserId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { RunStatus, StopReason } from "./run-status.ts";
import type { SessionEntry, SessionHead } from "./session.ts";
import type { Micros } from "./money.ts";

/** Whose data. Every call names it: there is no query without a tenant. */
export interface Partition {
  readonly tenantId: TenantId | null;
}

/** A page of a listing. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page starts; null on the last one. */
  readonly next: string | null;
}

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
  /** Idempotent: writing a record again changes nothing. */
  put(partition: Partition, run: RunRecord): Promise<void>;
  list(
    partition: Partition,
    filter: RunFilter,
    page: { readonly size: number; readonly after?: string },
  ): Promise<Page<RunRecord>>;
  tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]>;
}

/** The event streams of trees. Never numbers: the sequence comes from the tree. */
export interface EventStore {
  /** Idempotent by (tree, seq). */
  append(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void>;
  /** Events with a sequence above `after`, in order. */
  read(partition: Partition, tree: TreeId, after: number, limit: number): Promise<readonly NumberedEvent[]>;
  /** Resolves when there may be events above `after`; rejects with the signal's reason. */
  changed(partition: Partition, tree: TreeId, after: number, signal: AbortSignal): Promise<void>;
}

/** Conversations. */
export interface SessionStore {
  head(partition: Partition, session: SessionId): Promise<SessionHead | null>;
  /** Idempotent by entry id. Moves the leaf only of the branch the entries are on. */
  append(partition: Partition, session: SessionId, entries: readonly SessionEntry[]): Promise<void>;
  /** From an entry towards the root, at most `limit`, newest first. */
  path(
    partition: Partition,
    session: SessionId,
    from: EntryId,
    limit: number,
  ): Promise<readonly SessionEntry[]>;
  moveLeaf(partition: Partition, session: SessionId, leaf: EntryId | null): Promise<void>;
  /** Removes what a helper wrote. */
  dropBranch(partition: Partition, session: SessionId, branch: RunId): Promise<void>;
}

/** Something an agent remembers of a user. A later fact supersedes an earlier one of that user only. */
export interface Fact {
  readonly key: string;
  readonly value: Json;
  readonly validFrom: number;
  readonly validTo: number | null;
}

/** Long-term memory, one partition for each user. */
export interface MemoryStore {
  remember(partition: Partition, user: UserId | null, fact: Fact): Promise<void>;
  recall(
    partition: Partition,
    user: UserId | null,
    query: { readonly key?: string; readonly at?: number },
  ): Promise<readonly Fact[]>;
}

/** One link of a tenant's audit chain. */
export interface AuditEntry {
  readonly index: number;
  readonly at: number;
  readonly kind: string;
  readonly data: Json;
  /** Keyed hash of the previous link. */
  readonly previous: string;
  readonly hash: string;
}

/** The audit chain of each tenant. */
export interface AuditStore {
  /** Refuses an entry that does not follow the head. */
  append(partition: Partition, entry: AuditEntry): Promise<void>;
  read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]>;
  head(partition: Partition): Promise<AuditEntry | null>;
}

/** What must outlive a run, or be listed, searched and tailed. */
export interface Store {
  readonly runs: RunStore;
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly memory: MemoryStore;
  readonly audit: AuditStore;
}
