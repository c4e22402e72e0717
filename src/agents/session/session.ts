import {
  type EntryId,
  type NewFork,
  type NewSession,
  NotFoundError,
  type Partition,
  type RunId,
  type SessionEntry,
  type SessionHead,
  type SessionId,
  type SessionKey,
  type SessionStore,
} from "#kernel";
import { readEntry } from "./decode-entry.ts";

/** An entry without its position. The writer chooses the id: the same id again is the same entry. */
export type EntryDraft = EntryContent<Exclude<SessionEntry, { readonly type: "unknown" }>>;
type EntryContent<Entry> = Entry extends SessionEntry ? Omit<Entry, "parentId" | "branch"> : never;

/** The position of new entries. */
export interface EntryPosition {
  /** The run whose branch it is. Default: null, the main branch. */
  readonly branch?: RunId | null;
  /** The entry before the first one: of the same branch or of the main one. Null: none. Default: the branch's leaf. */
  readonly after?: EntryId | null;
}

/** A session to open. */
export type SessionOptions = Pick<NewSession, "startedAt"> & Partial<Omit<NewSession, keyof SessionKey>>;

/** Numbers of entries per read: a short window reads few unneeded ones, a long one makes few queries. */
const pageSizes = { first: 64, growth: 4, max: 1_024 } as const;

/**
 * One conversation in a store: a tree of entries. The path from the main leaf to the root is the current conversation.
 * The object holds no state: every call reads the store. Each change is one idempotent write, so a caller that is
 * unsure whether it succeeded repeats it. One writer at a time; the caller ensures that.
 */
export class Session {
  readonly store: SessionStore;
  readonly partition: Partition;
  readonly key: SessionKey;

  constructor(store: SessionStore, partition: Partition, { id, userId }: SessionKey) {
    this.store = store;
    this.partition = partition;
    this.key = { id, userId };
  }

  get id(): SessionId {
    return this.key.id;
  }

  /** Opens the session, unless it exists. Default: no agent, channel, title or metadata, and a chosen name. */
  async open({
    startedAt,
    agentId = null,
    channel = null,
    title = null,
    metadata = {},
    isNamed = true,
  }: SessionOptions): Promise<void> {
    const session = { ...this.key, startedAt, agentId, channel, title, metadata, isNamed };
    await this.store.open(this.partition, session);
  }

  /** Returns the head. @throws NotFoundError if the session was not opened. */
  async head(): Promise<SessionHead> {
    const head = await this.store.head(this.partition, this.key);
    if (!head) throw new NotFoundError({ what: "session", id: this.id });
    return head;
  }

  /** Returns the newest entry of a branch. Default: of the main one. */
  leaf(branch: RunId | null = null): Promise<EntryId | null> {
    return this.store.leaf(this.partition, this.key, branch);
  }

  /**
   * Appends entries, one below the other, and moves the leaf of their branch to the last of them. Existing entries stay
   * unchanged.
   *
   * @throws NotFoundError if `after` is not an entry of the main branch or of this one.
   */
  async append(drafts: readonly EntryDraft[], { branch = null, after }: EntryPosition = {}): Promise<void> {
    if (drafts.length === 0) return;
    if (after) await this.#expect(after, branch);
    let parentId = after === undefined ? await this.leaf(branch) : after;
    const entries = drafts.map((draft): SessionEntry => {
      const entry: SessionEntry = { ...draft, parentId, branch };
      parentId = draft.id;
      return entry;
    });
    await this.store.append(this.partition, this.key, entries);
  }

  /**
   * Moves the main leaf: the next entries follow it. Nothing is lost: entries below it stay in the tree.
   *
   * @throws NotFoundError if the main branch has no such entry. A child's entries may be dropped: fork there instead.
   */
  async navigate(to: EntryId | null): Promise<void> {
    if (to) await this.#expect(to, null);
    await this.store.moveLeaf(this.partition, this.key, { branch: null, leaf: to });
  }

  /**
   * Creates another session with the path from an entry to the root, and a link back. Idempotent for the same `id`.
   *
   * @throws NotFoundError if there is no such entry.
   */
  async fork(entry: EntryId, into: NewFork): Promise<Session> {
    await this.store.fork(this.partition, { session: this.key, entry }, into);
    return new Session(this.store, this.partition, { id: into.id, userId: this.key.userId });
  }

  /**
   * Merges the branch of a run into the main one, and makes its end the main leaf. Returns the main leaf. Without such
   * a branch, or if it ends with another entry than `leaf`, nothing changes. Drops the branches of other root runs.
   */
  adopt(branch: RunId, leaf?: EntryId): Promise<EntryId | null> {
    return this.store.adopt(this.partition, this.key, branch, leaf);
  }

  /** Sets the title; null removes it. @throws NotFoundError if the session was not opened. */
  async rename(title: string | null): Promise<void> {
    await this.store.rename(this.partition, this.key, title);
  }

  /** Removes the whole conversation. */
  async remove(): Promise<void> {
    await this.store.remove(this.partition, this.key);
  }

  /** Removes the entries of a run that were not adopted. The main path never contains them. */
  async dropBranch(branch: RunId): Promise<void> {
    await this.store.dropBranch(this.partition, this.key, branch);
  }

  /**
   * Yields entries from one entry to the root, newest first; read in pages, as far as the caller iterates. Default:
   * from the main leaf.
   */
  async *path(from?: EntryId | null): AsyncGenerator<SessionEntry, void, undefined> {
    const seen = new Set<EntryId>();
    let next = from === undefined ? await this.leaf() : from;
    for (let limit: number = pageSizes.first; next; limit = nextSize(limit)) {
      const page = await this.store.path(this.partition, this.key, { from: next, limit });
      next = null;
      for (const stored of page) {
        const entry = readEntry(stored);
        // A damaged store may hold a cycle: the path ends where it closes.
        if (!entry || seen.has(entry.id)) return;
        seen.add(entry.id);
        yield entry;
        next = entry.parentId;
      }
    }
  }

  /** Yields every entry of every branch, in the order of arrival. */
  async *entries(): AsyncGenerator<SessionEntry, void, undefined> {
    let after: EntryId | null = null;
    for (let limit: number = pageSizes.first; ; limit = nextSize(limit)) {
      const page: readonly SessionEntry[] = await this.store.entries(this.partition, this.key, {
        after,
        limit,
      });
      const last = page.at(-1);
      if (!last) return;
      after = last.id;
      for (const stored of page) {
        const entry = readEntry(stored);
        if (entry) yield entry;
      }
    }
  }

  /** Returns the labels of entries, anywhere in the tree. The newest one counts; null removes it. */
  async labels(): Promise<ReadonlyMap<EntryId, string>> {
    const labels = new Map<EntryId, string>();
    for await (const entry of this.entries()) {
      if (entry.type !== "label") continue;
      if (entry.label === null) labels.delete(entry.target);
      else labels.set(entry.target, entry.label);
    }
    return labels;
  }

  async #expect(id: EntryId, branch: RunId | null): Promise<void> {
    const [entry] = await this.store.path(this.partition, this.key, { from: id, limit: 1 });
    if (!entry || (entry.branch !== null && entry.branch !== branch))
      throw new NotFoundError({ what: branch ? "entry for this branch" : "entry of the main branch", id });
  }
}

const nextSize = (size: number): number => Math.min(size * pageSizes.growth, pageSizes.max);
