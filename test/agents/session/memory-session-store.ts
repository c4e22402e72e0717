import {
  type EntryId,
  NotFoundError,
  type Partition,
  type RunId,
  type SessionEntry,
  type SessionHead,
  type SessionId,
  type SessionStore,
} from "reeve/kernel";

interface Kept {
  readonly head: Omit<SessionHead, "leaf">;
  readonly entries: Map<EntryId, SessionEntry>;
  readonly leaves: Map<RunId | null, EntryId | null>;
}

/** Sessions in a map: what the rules are tested against. */
export class MemorySessionStore implements SessionStore {
  readonly #sessions = new Map<string, Kept>();
  /** Entries handed out so far. */
  entriesRead = 0;

  open(partition: Partition, session: Omit<SessionHead, "leaf" | "forkedFrom">): Promise<void> {
    this.#open(partition, { ...session, forkedFrom: null });
    return Promise.resolve();
  }

  async fork(
    partition: Partition,
    from: { readonly session: SessionId; readonly entry: EntryId },
    into: { readonly id: SessionId; readonly startedAt: number },
  ): Promise<void> {
    const { head, entries } = this.#kept(partition, from.session);
    if (!entries.has(from.entry)) throw new NotFoundError({ what: "entry", id: from.entry });
    if (this.#sessions.has(keyOf(partition, into.id))) return;
    const path = await this.path(partition, from.session, from.entry, Infinity);
    this.#open(partition, { ...into, userId: head.userId, forkedFrom: from });
    await this.append(
      partition,
      into.id,
      path.toReversed().map((entry) => Object.assign(structuredClone(entry), { branch: null })),
    );
  }

  head(partition: Partition, session: SessionId): Promise<SessionHead | null> {
    const kept = this.#sessions.get(keyOf(partition, session));
    return Promise.resolve(kept ? { ...kept.head, leaf: kept.leaves.get(null) ?? null } : null);
  }

  append(partition: Partition, session: SessionId, entries: readonly SessionEntry[]): Promise<void> {
    const { entries: kept, leaves } = this.#kept(partition, session);
    for (const entry of entries) {
      if (kept.has(entry.id)) continue;
      kept.set(entry.id, structuredClone(entry));
      leaves.set(entry.branch, entry.id);
    }
    return Promise.resolve();
  }

  path(
    partition: Partition,
    session: SessionId,
    from: EntryId,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    const { entries } = this.#kept(partition, session);
    const path: SessionEntry[] = [];
    let next = entries.get(from);
    while (next && path.length < limit) {
      path.push(next);
      next = next.parentId === null ? undefined : entries.get(next.parentId);
    }
    this.entriesRead += path.length;
    return Promise.resolve(path);
  }

  entries(
    partition: Partition,
    session: SessionId,
    after: EntryId | null,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    const all = [...this.#kept(partition, session).entries.values()];
    const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    return Promise.resolve(all.slice(start, start + limit));
  }

  leaf(partition: Partition, session: SessionId, branch: RunId | null): Promise<EntryId | null> {
    return Promise.resolve(this.#kept(partition, session).leaves.get(branch) ?? null);
  }

  moveLeaf(
    partition: Partition,
    session: SessionId,
    branch: RunId | null,
    leaf: EntryId | null,
  ): Promise<void> {
    const { entries, leaves } = this.#kept(partition, session);
    if (leaf !== null && !entries.has(leaf)) throw new NotFoundError({ what: "entry", id: leaf });
    leaves.set(branch, leaf);
    return Promise.resolve();
  }

  dropBranch(partition: Partition, session: SessionId, branch: RunId): Promise<void> {
    const { entries, leaves } = this.#kept(partition, session);
    for (const entry of entries.values()) if (entry.branch === branch) entries.delete(entry.id);
    leaves.delete(branch);
    return Promise.resolve();
  }

  #open(partition: Partition, head: Omit<SessionHead, "leaf">): void {
    const key = keyOf(partition, head.id);
    if (!this.#sessions.has(key)) this.#sessions.set(key, { head, entries: new Map(), leaves: new Map() });
  }

  #kept(partition: Partition, session: SessionId): Kept {
    const kept = this.#sessions.get(keyOf(partition, session));
    if (!kept) throw new NotFoundError({ what: "session", id: session });
    return kept;
  }
}

function keyOf({ tenantId }: Partition, session: SessionId): string {
  return `${tenantId ?? ""}/${session}`;
}
