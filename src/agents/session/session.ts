import {
  type EntryId,
  NotFoundError,
  type Partition,
  type RunId,
  type SessionEntry,
  type SessionHead,
  type SessionId,
  type SessionStore,
} from "#kernel";
import { readEntry } from "./decode-entry.ts";

/** An entry before it has its place. The id is the writer's to choose: the same one again is the same entry. */
export type EntryDraft = Written<Exclude<SessionEntry, { readonly type: "unknown" }>>;
type Written<Entry> = Entry extends SessionEntry ? Omit<Entry, "parentId" | "branch"> : never;

/** Where entries go. */
export interface EntryPlace {
  /** The helper whose branch it is. Default: null, the main one. */
  readonly branch?: RunId | null;
  /** The entry before the first one: of the same branch or of the main one; null: none. Default: the branch's leaf. */
  readonly after?: EntryId | null;
}

/** How many entries are read at once. */
const pageSize = 64;

/**
 * One conversation in a store: a tree of entries, of which the path from the main leaf to the root is the one that is
 * going on. Holds nothing itself: every call reads what is there. Each change is one write, and the same change again
 * changes nothing, so whoever does not know whether it came through makes it again. One writer at a time; who that is,
 * is not decided here.
 */
export class Session {
  readonly store: SessionStore;
  readonly partition: Partition;
  readonly id: SessionId;

  constructor(store: SessionStore, partition: Partition, id: SessionId) {
    this.store = store;
    this.partition = partition;
    this.id = id;
  }

  /** Makes the session, unless it is there. */
  async open({ userId, startedAt }: Pick<SessionHead, "userId" | "startedAt">): Promise<void> {
    await this.store.open(this.partition, { id: this.id, userId, startedAt });
  }

  /** @throws NotFoundError if the session was not opened. */
  async head(): Promise<SessionHead> {
    const head = await this.store.head(this.partition, this.id);
    if (!head) throw new NotFoundError({ what: "session", id: this.id });
    return head;
  }

  /** The newest entry of a branch. Default: of the main one. */
  leaf(branch: RunId | null = null): Promise<EntryId | null> {
    return this.store.leaf(this.partition, this.id, branch);
  }

  /**
   * Adds entries, one below the other, and moves the leaf of their branch to the last of them. Those that are there
   * already stay as and where they are.
   *
   * @throws NotFoundError if `after` is no entry of the main branch or of this one.
   */
  async append(drafts: readonly EntryDraft[], { branch = null, after }: EntryPlace = {}): Promise<void> {
    if (drafts.length === 0) return;
    if (after) await this.#expect(after, branch);
    let parentId = after === undefined ? await this.leaf(branch) : after;
    const entries = drafts.map((draft): SessionEntry => {
      const entry: SessionEntry = { ...draft, parentId, branch };
      parentId = draft.id;
      return entry;
    });
    await this.store.append(this.partition, this.id, entries);
  }

  /**
   * Moves the main leaf: what is written next hangs there. Nothing is lost: what was below stays in the tree.
   *
   * @throws NotFoundError if the main branch has no such entry. A helper's entries may be dropped: fork there instead.
   */
  async navigate(to: EntryId | null): Promise<void> {
    if (to) await this.#expect(to, null);
    await this.store.moveLeaf(this.partition, this.id, null, to);
  }

  /**
   * Another session with the path from an entry to the root, and a link back. Given again for the same `id`, it gives
   * the same session.
   *
   * @throws NotFoundError if there is no such entry.
   */
  async fork(entry: EntryId, into: { readonly id: SessionId; readonly startedAt: number }): Promise<Session> {
    await this.store.fork(this.partition, { session: this.id, entry }, into);
    return new Session(this.store, this.partition, into.id);
  }

  /** Removes what a helper wrote. The main path never leads through it. */
  async dropBranch(branch: RunId): Promise<void> {
    await this.store.dropBranch(this.partition, this.id, branch);
  }

  /** From an entry to the root, newest first; read in pages, as far as the caller goes. Default: from the main leaf. */
  async *path(from?: EntryId | null): AsyncGenerator<SessionEntry, void, undefined> {
    const seen = new Set<EntryId>();
    let next = from === undefined ? await this.leaf() : from;
    while (next) {
      const page = await this.store.path(this.partition, this.id, next, pageSize);
      next = null;
      for (const stored of page) {
        const entry = readEntry(stored);
        // A damaged store may hold a circle: the path ends where it closes.
        if (!entry || seen.has(entry.id)) return;
        seen.add(entry.id);
        yield entry;
        next = entry.parentId;
      }
    }
  }

  /** Every entry of every branch, in the order they came. */
  async *entries(): AsyncGenerator<SessionEntry, void, undefined> {
    let after: EntryId | null = null;
    for (;;) {
      const page: readonly SessionEntry[] = await this.store.entries(
        this.partition,
        this.id,
        after,
        pageSize,
      );
      const last = page.at(-1);
      if (!last) return;
      after = last.id;
      for (const stored of page) {
        const entry = readEntry(stored);
        if (entry) yield entry;
      }
    }
  }

  /** The labels of entries, wherever in the tree they were given. The newest one counts; null takes it away. */
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
    const [entry] = await this.store.path(this.partition, this.id, id, 1);
    if (!entry || (entry.branch !== null && entry.branch !== branch))
      throw new NotFoundError({ what: branch ? "entry for this branch" : "entry of the main branch", id });
  }
}
