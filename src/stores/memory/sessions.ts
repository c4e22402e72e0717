import { NotFoundError, type Page, type PageRequest, type Partition } from "#kernel";
import type { EntryId, RunId, SessionEntry, SessionHead, SessionId, SessionStore, UserId } from "#kernel";
import { copy, pageOf, Shelf } from "./shelf.ts";

interface Conversation {
  readonly head: Omit<SessionHead, "leaf">;
  /** In the order they came. */
  readonly entries: Map<EntryId, SessionEntry>;
  readonly leaves: Map<RunId | null, EntryId>;
}

export class MemorySessions implements SessionStore {
  readonly shelf = new Shelf<Conversation>();

  async open(partition: Partition, session: Omit<SessionHead, "leaf" | "forkedFrom">): Promise<void> {
    const { id, userId, startedAt } = session;
    this.#create(partition, { id, userId, startedAt, forkedFrom: null });
  }

  async fork(
    partition: Partition,
    from: { readonly session: SessionId; readonly entry: EntryId },
    into: { readonly id: SessionId; readonly startedAt: number },
  ): Promise<void> {
    const source = this.#of(partition, from.session);
    const path = await this.path(partition, from.session, from.entry, source.entries.size);
    if (path.length === 0) throw new NotFoundError({ what: "entry", id: from.entry });
    if (this.shelf.of(partition).has(into.id)) return;
    const { entries, leaves } = this.#create(partition, {
      ...into,
      userId: source.head.userId,
      forkedFrom: from,
    });
    for (const entry of path.toReversed()) entries.set(entry.id, { ...entry, branch: null });
    leaves.set(null, from.entry);
  }

  async head(partition: Partition, session: SessionId): Promise<SessionHead | null> {
    const found = this.shelf.of(partition).get(session);
    return found ? headOf(found) : null;
  }

  async list(
    partition: Partition,
    { userId }: { readonly userId?: UserId | null },
    page: PageRequest,
  ): Promise<Page<SessionHead>> {
    const found = this.shelf.of(partition).values().map(headOf);
    const fitting = found.filter((head) => userId === undefined || head.userId === userId);
    return pageOf(fitting, page, (head) => [head.startedAt, head.id]);
  }

  async append(partition: Partition, session: SessionId, added: readonly SessionEntry[]): Promise<void> {
    const { entries, leaves } = this.#of(partition, session);
    for (const entry of added) {
      if (entries.has(entry.id)) continue;
      entries.set(entry.id, copy(entry));
      leaves.set(entry.branch, entry.id);
    }
  }

  async path(
    partition: Partition,
    session: SessionId,
    from: EntryId,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    const entries = this.shelf.of(partition).get(session)?.entries;
    const path: SessionEntry[] = [];
    for (let next = entries?.get(from); next && path.length < limit;) {
      path.push(next);
      next = next.parentId === null ? undefined : entries?.get(next.parentId);
    }
    return path;
  }

  async entries(
    partition: Partition,
    session: SessionId,
    after: EntryId | null,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    const entries = [...(this.shelf.of(partition).get(session)?.entries.values() ?? [])];
    const start = after === null ? 0 : entries.findIndex(({ id }) => id === after) + 1;
    return entries.slice(start, start + limit);
  }

  async leaf(partition: Partition, session: SessionId, branch: RunId | null): Promise<EntryId | null> {
    return this.shelf.of(partition).get(session)?.leaves.get(branch) ?? null;
  }

  async moveLeaf(
    partition: Partition,
    session: SessionId,
    branch: RunId | null,
    leaf: EntryId | null,
  ): Promise<void> {
    const { entries, leaves } = this.#of(partition, session);
    if (leaf === null) leaves.delete(branch);
    else if (entries.has(leaf)) leaves.set(branch, leaf);
    else throw new NotFoundError({ what: "entry", id: leaf });
  }

  async dropBranch(partition: Partition, session: SessionId, branch: RunId): Promise<void> {
    const found = this.shelf.of(partition).get(session);
    for (const entry of found?.entries.values() ?? [])
      if (entry.branch === branch) found?.entries.delete(entry.id);
    found?.leaves.delete(branch);
  }

  #of(partition: Partition, session: SessionId): Conversation {
    const found = this.shelf.of(partition).get(session);
    if (!found) throw new NotFoundError({ what: "session", id: session });
    return found;
  }

  #create(partition: Partition, head: Conversation["head"]): Conversation {
    const sessions = this.shelf.of(partition);
    const conversation = sessions.get(head.id) ?? { head, entries: new Map(), leaves: new Map() };
    sessions.set(head.id, conversation);
    return conversation;
  }
}

const headOf = ({ head, leaves }: Conversation): SessionHead => ({ ...head, leaf: leaves.get(null) ?? null });
