import {
  type Adoption,
  type AdoptionOutcome,
  type AppendFence,
  type EntryId,
  findTurn,
  findTurnStart,
  type LeafMove,
  type NewFork,
  type NewSession,
  NotFoundError,
  type Page,
  type PageRequest,
  type Partition,
  RunId,
  type SessionEntry,
  type SessionFilter,
  type SessionHead,
  type SessionKey,
  type SessionStore,
  type Settlement,
} from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { copy, toPage, TenantMap } from "./tenant-map.ts";

interface Conversation {
  head: Omit<SessionHead, "leaf">;
  /** In order of insertion. */
  readonly entries: Map<EntryId, SessionEntry>;
  readonly leaves: Map<RunId | null, EntryId>;
  /** Root runs whose turns have ended. */
  readonly settled: Set<RunId>;
}

/** Also the order of sessions that started at the same time: no id has a space. */
const toSessionKey = ({ id, userId }: SessionKey): string => `${id} ${userId ?? ""}`;

export class MemorySessions implements SessionStore {
  readonly byTenant = new TenantMap<Conversation>();
  readonly #erased: ErasedTrees;
  readonly #onRemove: (partition: Partition, session: SessionKey) => void;

  /** `onRemove` is called for each session that is removed. */
  constructor(erased: ErasedTrees, onRemove: (partition: Partition, session: SessionKey) => void) {
    this.#erased = erased;
    this.#onRemove = onRemove;
  }

  async open(partition: Partition, session: NewSession, turn?: RunId): Promise<void> {
    if (turn !== undefined && this.#erased.hasContent(partition, RunId.tree(turn))) return;
    this.#create(partition, { ...copy(session), updatedAt: session.startedAt, forkedFrom: null });
  }

  async fork(
    partition: Partition,
    from: { readonly session: SessionKey; readonly entry: EntryId },
    { id, startedAt, title = null, metadata = {} }: NewFork,
  ): Promise<void> {
    const source = this.#getConversation(partition, from.session);
    const path = await this.path(partition, from.session, { from: from.entry, limit: source.entries.size });
    if (path.length === 0) throw new NotFoundError({ what: "entry", id: from.entry });
    const { userId, agentId, channel } = source.head;
    if (this.#find(partition, { id, userId })) return;
    const { entries, leaves } = this.#create(partition, {
      id,
      userId,
      agentId,
      channel,
      title,
      startedAt,
      updatedAt: startedAt,
      isNamed: true,
      metadata: copy(metadata),
      forkedFrom: { session: from.session.id, entry: from.entry },
    });
    for (const entry of path.toReversed()) entries.set(entry.id, { ...entry, branch: null });
    leaves.set(null, from.entry);
  }

  async head(partition: Partition, session: SessionKey): Promise<SessionHead | null> {
    const found = this.#find(partition, session);
    return found ? toHead(found) : null;
  }

  async list(
    partition: Partition,
    { userId, agentId, unnamed = false }: SessionFilter,
    page: PageRequest,
  ): Promise<Page<SessionHead>> {
    const fitting = this.byTenant
      .getItems(partition)
      .values()
      .map(toHead)
      .filter((head) => userId === undefined || head.userId === userId)
      .filter((head) => agentId === undefined || head.agentId === agentId)
      .filter((head) => unnamed || head.isNamed);
    return toPage(fitting, page, (head) => [head.startedAt, toSessionKey(head)]);
  }

  async rename(partition: Partition, session: SessionKey, title: string | null): Promise<void> {
    const found = this.#getConversation(partition, session);
    found.head = { ...found.head, title };
  }

  async remove(partition: Partition, session: SessionKey): Promise<void> {
    this.byTenant.getItems(partition).delete(toSessionKey(session));
    this.#onRemove(partition, session);
  }

  /** Removes a session unless it has a name. */
  removeUnnamed(partition: Partition, session: SessionKey): void {
    if (this.#find(partition, session)?.head.isNamed === false) void this.remove(partition, session);
  }

  async append(
    partition: Partition,
    session: SessionKey,
    added: readonly SessionEntry[],
    fence: AppendFence = {},
  ): Promise<boolean> {
    const written = findTurn(added, fence);
    if (written !== null && this.#erased.hasContent(partition, RunId.tree(written))) return false;
    const { follows, turn } = fence;
    const found = this.#getConversation(partition, session);
    const { settled, entries, leaves } = found;
    if (turn !== undefined && settled.has(turn)) return false;
    for (const { branch } of added) if (branch !== null && settled.has(branch)) return false;
    const leaf = leaves.get(added[0]?.branch ?? null) ?? null;
    const isMade = leaf === added.at(-1)?.id;
    if (follows !== undefined && leaf !== follows && !isMade) return false;
    for (const entry of added) {
      if (entries.has(entry.id)) continue;
      entries.set(entry.id, copy(entry));
      leaves.set(entry.branch, entry.id);
      if (entry.branch === null) touch(found, entry.at);
    }
    return true;
  }

  async adopt(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    { last, follows, from = follows }: Adoption,
  ): Promise<AdoptionOutcome> {
    const found = this.#find(partition, session);
    if (!found) return "incomplete";
    if (found.settled.has(branch)) return "settled";
    if (isOnMain(found, last)) return "adopted";
    if ((found.leaves.get(null) ?? null) !== follows) return "overtaken";
    if (found.leaves.get(branch) !== last || startOf(found, branch, last) !== from) return "incomplete";
    if (from !== null && !isOnMain(found, from)) return "incomplete";
    merge(found, branch, last);
    return "adopted";
  }

  async settle(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    { end, goesBack = false }: Settlement,
  ): Promise<boolean> {
    const found = this.#find(partition, session);
    if (!found || found.settled.has(branch)) return true;
    const last = found.leaves.get(branch) ?? null;
    if (end && last !== null) {
      const start = startOf(found, branch, last);
      const isWhole = start === null || isOnMain(found, start);
      if (!isWhole || !(goesBack || start === (found.leaves.get(null) ?? null))) return false;
      found.entries.set(end.id, { ...copy(end), parentId: last, branch });
      merge(found, branch, end.id);
    } else dropEntries(found, branch);
    found.settled.add(branch);
    return true;
  }

  async path(
    partition: Partition,
    session: SessionKey,
    { from, limit }: { readonly from: EntryId; readonly limit: number },
  ): Promise<readonly SessionEntry[]> {
    const entries = this.#find(partition, session)?.entries;
    const path: SessionEntry[] = [];
    for (let next = entries?.get(from); next && path.length < limit;) {
      path.push(next);
      next = next.parentId === null ? undefined : entries?.get(next.parentId);
    }
    return path;
  }

  async entries(
    partition: Partition,
    session: SessionKey,
    { after, limit }: { readonly after: EntryId | null; readonly limit: number },
  ): Promise<readonly SessionEntry[]> {
    const entries = [...(this.#find(partition, session)?.entries.values() ?? [])];
    const start = after === null ? 0 : entries.findIndex(({ id }) => id === after) + 1;
    return entries.slice(start, start + limit);
  }

  async leaf(partition: Partition, session: SessionKey, branch: RunId | null): Promise<EntryId | null> {
    return this.#find(partition, session)?.leaves.get(branch) ?? null;
  }

  async moveLeaf(
    partition: Partition,
    session: SessionKey,
    { branch, leaf, from }: LeafMove,
  ): Promise<boolean> {
    const { entries, leaves } = this.#getConversation(partition, session);
    if (leaf !== null && !entries.has(leaf)) throw new NotFoundError({ what: "entry", id: leaf });
    const present = leaves.get(branch) ?? null;
    if (from !== undefined && present !== from && present !== leaf) return false;
    if (leaf === null) leaves.delete(branch);
    else leaves.set(branch, leaf);
    return true;
  }

  #find(partition: Partition, session: SessionKey): Conversation | undefined {
    return this.byTenant.getItems(partition).get(toSessionKey(session));
  }

  #getConversation(partition: Partition, session: SessionKey): Conversation {
    const found = this.#find(partition, session);
    if (!found) throw new NotFoundError({ what: "session", id: session.id });
    return found;
  }

  #create(partition: Partition, head: Conversation["head"]): Conversation {
    const sessions = this.byTenant.getItems(partition);
    const key = toSessionKey(head);
    const conversation = sessions.get(key) ?? {
      head,
      entries: new Map(),
      leaves: new Map(),
      settled: new Set(),
    };
    sessions.set(key, conversation);
    return conversation;
  }
}

const isOnMain = ({ entries }: Conversation, id: EntryId): boolean => entries.get(id)?.branch === null;

/** The entry that the entries of a branch begin below. */
function startOf({ entries }: Conversation, branch: RunId, last: EntryId): EntryId | null {
  const parents = new Map<EntryId, EntryId | null>();
  for (const entry of entries.values()) if (entry.branch === branch) parents.set(entry.id, entry.parentId);
  return findTurnStart(parents, last);
}

/** Merges a branch into the main one. */
function merge(conversation: Conversation, branch: RunId, last: EntryId): void {
  const { entries, leaves } = conversation;
  for (const entry of entries.values()) {
    if (entry.branch !== branch) continue;
    entries.set(entry.id, { ...entry, branch: null });
    touch(conversation, entry.at);
  }
  leaves.delete(branch);
  leaves.set(null, last);
}

function dropEntries({ entries, leaves }: Conversation, branch: RunId): void {
  for (const entry of entries.values()) if (entry.branch === branch) entries.delete(entry.id);
  leaves.delete(branch);
}

function touch(conversation: Conversation, at: number): void {
  const { head } = conversation;
  if (at > head.updatedAt) conversation.head = { ...head, updatedAt: at };
}

const toHead = ({ head, leaves }: Conversation): SessionHead => ({ ...head, leaf: leaves.get(null) ?? null });
