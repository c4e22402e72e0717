import {
  type Adoption,
  type AdoptionOutcome,
  type EntryId,
  type NewFork,
  type NewSession,
  NotFoundError,
  type Partition,
  type RunId,
  SessionBusyError,
  type SessionEntry,
  type SessionHead,
  type SessionId,
  type SessionKey,
  type SessionStore,
  type Settlement,
  TurnLostError,
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
export interface SessionOptions
  extends Pick<NewSession, "startedAt">, Partial<Omit<NewSession, keyof SessionKey | "startedAt">> {
  /** The root run whose turn opens it. Default: none. */
  readonly turn?: RunId;
}

/** Numbers of entries per read: a short window reads few unneeded ones, a long one makes few queries. */
const pageSizes = { first: 64, growth: 4, max: 1_024 } as const;

/**
 * One conversation in a store: a tree of entries. The path from the main leaf to the root is the current conversation.
 * The object holds no state: every call reads the store. Each change is one idempotent write, so a caller that is
 * unsure whether it succeeded repeats it. A write that another process has overtaken changes nothing, and is refused.
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
    turn,
  }: SessionOptions): Promise<void> {
    const session = { ...this.key, startedAt, agentId, channel, title, metadata, isNamed };
    await this.store.open(this.partition, session, turn);
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
   * @throws NotFoundError if `after` is not an entry of the main branch or of this one; TurnLostError if the turn of the
   * branch was settled; SessionBusyError if another writer has just moved the leaf.
   */
  async append(drafts: readonly EntryDraft[], { branch = null, after }: EntryPosition = {}): Promise<void> {
    if (drafts.length === 0) return;
    if (after) await this.#expect(after, branch);
    const leaf = after === undefined ? await this.leaf(branch) : after;
    let parentId = leaf;
    const entries = drafts.map((draft): SessionEntry => {
      const entry: SessionEntry = { ...draft, parentId, branch };
      parentId = draft.id;
      return entry;
    });
    const fence = branch === null && after === undefined ? { follows: leaf } : {};
    if (await this.store.append(this.partition, this.key, entries, fence)) return;
    const session = this.id;
    if (branch !== null) throw new TurnLostError({ session, reason: "settled" });
    throw new SessionBusyError({ session });
  }

  /**
   * Moves the main leaf: the next entries follow it. Nothing is lost: entries below it stay in the tree.
   *
   * @throws NotFoundError if the main branch has no such entry: a child's entries may be dropped, fork there instead.
   * SessionBusyError if another writer has just moved the leaf.
   */
  async navigate(to: EntryId | null): Promise<void> {
    const from = await this.leaf();
    if (to) await this.#expect(to, null);
    const move = { branch: null, leaf: to, from };
    if (!(await this.store.moveLeaf(this.partition, this.key, move)))
      throw new SessionBusyError({ session: this.id });
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
   * Merges the branch of a root run into the main one, and makes its end the main leaf. Changes nothing unless the main
   * leaf is still the one that the turn follows, and the turn is whole.
   */
  adopt(branch: RunId, adoption: Adoption): Promise<AdoptionOutcome> {
    return this.store.adopt(this.partition, this.key, branch, adoption);
  }

  /**
   * Ends the turn of a run that was not adopted: closes it with an entry and merges it, or drops it. Later writes of the
   * run are refused. Returns false if it cannot be merged: then nothing has changed.
   */
  settle(branch: RunId, settlement: Settlement): Promise<boolean> {
    return this.store.settle(this.partition, this.key, branch, settlement);
  }

  /** Sets the title; null removes it. @throws NotFoundError if the session was not opened. */
  async rename(title: string | null): Promise<void> {
    await this.store.rename(this.partition, this.key, title);
  }

  /** Removes the whole conversation. */
  async remove(): Promise<void> {
    await this.store.remove(this.partition, this.key);
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
