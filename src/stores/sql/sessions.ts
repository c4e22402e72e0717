import {
  type Adoption,
  type AdoptionOutcome,
  type AppendFence,
  type EntryId,
  findTurn,
  Json,
  type LeafMove,
  type NewFork,
  type NewSession,
  Page,
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
import type { Access, Work } from "./access.ts";
import {
  insertEntries,
  lockSession,
  missingEntry,
  missingSession,
  ownRows,
  selectEntries,
  selectPath,
} from "./entries.ts";
import { isErased, writeUnlessErased } from "./erased-trees.ts";
import { leafOf, setLeaf } from "./leaves.ts";
import { eraseSessionMemory } from "./memory-owner-rows.ts";
import {
  encodeText,
  insertSession,
  isText,
  parseColumn,
  selectHead,
  selectHeads,
  touch,
} from "./session-heads.ts";
import { adoptTurn, mayAppend, settleTurn } from "./turns.ts";

export class SqlSessions implements SessionStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async open(partition: Partition, session: NewSession, turn?: RunId): Promise<void> {
    const open: Work<void> = async (db, tenant) => {
      await insertSession(db, tenant, { ...session, updatedAt: session.startedAt, forkedFrom: null });
    };
    if (turn === undefined) await this.#access.write(partition, open);
    else await writeUnlessErased(this.#access, { partition, tree: RunId.tree(turn), part: "content" }, open);
  }

  async fork(
    partition: Partition,
    from: { readonly session: SessionKey; readonly entry: EntryId },
    { id, startedAt, title = null, metadata = {} }: NewFork,
  ): Promise<void> {
    const { userId } = from.session;
    await this.#access.write(partition, async (db, tenant) => {
      const own = ownRows(tenant, from.session);
      const source = await db
        .selectFrom("reeve_session")
        .select(["agent_id", "channel", "places"])
        .where((eb) => eb.and(own))
        .executeTakeFirst();
      const path = source ? await selectPath(db, own, { from: from.entry, limit: source.places }) : [];
      if (!source || path.length === 0) throw missingEntry(from.entry);
      const created = await insertSession(db, tenant, {
        id,
        userId,
        startedAt,
        updatedAt: startedAt,
        title,
        metadata,
        isNamed: true,
        agentId: Json.as(source.agent_id),
        channel: parseColumn(source.channel, isText),
        forkedFrom: { session: from.session.id, entry: from.entry },
      });
      if (!created) return;
      const copied = path.toReversed().map((entry) => Object.assign({}, entry, { branch: null }));
      const fork = ownRows(tenant, { id, userId });
      const first = await lockSession(db, fork, copied.length);
      await insertEntries(db, fork, { entries: copied, first: first ?? 0 });
      await setLeaf(db, fork, { branch: null, leaf: from.entry });
    });
  }

  async head(partition: Partition, session: SessionKey): Promise<SessionHead | null> {
    return this.#access.read(partition, (db, tenant) => selectHead(db, ownRows(tenant, session)));
  }

  async list(partition: Partition, filter: SessionFilter, request: PageRequest): Promise<Page<SessionHead>> {
    const { size, after } = Page.request(request);
    const found = await this.#access.read(partition, (db, tenant) =>
      selectHeads(db, tenant, { ...filter, after, limit: size + 1 }),
    );
    return Page.of(found, size, (head) => [head.startedAt, `${head.id} ${head.userId ?? ""}`]);
  }

  async rename(partition: Partition, session: SessionKey, title: string | null): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const renamed = await db
        .updateTable("reeve_session")
        .set({ title: encodeText(title) })
        .where((eb) => eb.and(ownRows(tenant, session)))
        .returning("session_id")
        .executeTakeFirst();
      if (!renamed) throw missingSession(session.id);
    });
  }

  async remove(partition: Partition, session: SessionKey): Promise<void> {
    const remove: Work<void> = async (db, tenant) => {
      await db
        .deleteFrom("reeve_session")
        .where((eb) => eb.and(ownRows(tenant, session)))
        .execute();
      await eraseSessionMemory(db, tenant, session);
    };
    await this.#access.write(partition, remove, { erases: true });
  }

  async append(
    partition: Partition,
    session: SessionKey,
    entries: readonly SessionEntry[],
    fence: AppendFence = {},
  ): Promise<boolean> {
    const turn = findTurn(entries, fence);
    const tree = turn && RunId.tree(turn);
    const write: Work<boolean> = async (db, tenant) => {
      if (tree !== null && (await isErased(db, tenant, { tree, part: "content" }))) return false;
      const own = ownRows(tenant, session);
      const first = await lockSession(db, own, entries.length);
      if (first === null) throw missingSession(session.id);
      if (!(await mayAppend(db, own, { entries, fence }))) return false;
      const ids = new Set(await insertEntries(db, own, { entries, first }));
      const added = entries.filter(({ id }) => ids.has(id));
      const leaves = new Map(added.map(({ branch, id }) => [branch, id]));
      for (const [branch, leaf] of leaves) await setLeaf(db, own, { branch, leaf });
      const times = added.filter(({ branch }) => branch === null).map(({ at }) => at);
      if (times.length > 0) await touch(db, own, Math.max(...times));
      return true;
    };
    return this.#access.write(partition, write, tree === null ? {} : { tree });
  }

  async adopt(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    adoption: Adoption,
  ): Promise<AdoptionOutcome> {
    return this.#access.write(partition, (db, tenant) =>
      adoptTurn(db, ownRows(tenant, session), { ...adoption, branch }),
    );
  }

  async settle(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    settlement: Settlement,
  ): Promise<boolean> {
    return this.#access.write(partition, (db, tenant) =>
      settleTurn(db, ownRows(tenant, session), { ...settlement, branch }),
    );
  }

  async path(
    partition: Partition,
    session: SessionKey,
    range: { readonly from: EntryId; readonly limit: number },
  ): Promise<readonly SessionEntry[]> {
    return this.#access.read(partition, (db, tenant) => selectPath(db, ownRows(tenant, session), range));
  }

  async entries(
    partition: Partition,
    session: SessionKey,
    range: { readonly after: EntryId | null; readonly limit: number },
  ): Promise<readonly SessionEntry[]> {
    return this.#access.read(partition, (db, tenant) => selectEntries(db, ownRows(tenant, session), range));
  }

  async leaf(partition: Partition, session: SessionKey, branch: RunId | null): Promise<EntryId | null> {
    return this.#access.read(partition, (db, tenant) => leafOf(db, ownRows(tenant, session), branch));
  }

  async moveLeaf(
    partition: Partition,
    session: SessionKey,
    { branch, leaf, from }: LeafMove,
  ): Promise<boolean> {
    return this.#access.write(partition, async (db, tenant) => {
      const own = ownRows(tenant, session);
      if ((await lockSession(db, own)) === null) throw missingSession(session.id);
      const present = await leafOf(db, own, branch);
      if (from !== undefined && present !== from && present !== leaf) return false;
      await setLeaf(db, own, { branch, leaf });
      return true;
    });
  }
}
