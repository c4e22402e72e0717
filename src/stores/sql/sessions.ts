import {
  type EntryId,
  isJsonObject,
  Json,
  type NewFork,
  type NewSession,
  Page,
  type PageRequest,
  type Partition,
  type RunId,
  type SessionEntry,
  type SessionFilter,
  type SessionHead,
  type SessionKey,
  type SessionStore,
} from "#kernel";
import { type Kysely, sql } from "kysely";
import type { Access } from "./access.ts";
import {
  dropBranches,
  selectEntries,
  insertEntries,
  leafOf,
  missingEntry,
  missingSession,
  type OwnRows,
  ownRows,
  selectPath,
  setLeaf,
} from "./entries.ts";
import { eraseSessionMemory } from "./memory-owner-rows.ts";
import type { Tables } from "./tables.ts";

export class SqlSessions implements SessionStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async open(partition: Partition, session: NewSession): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      await insertSession(db, tenant, { ...session, updatedAt: session.startedAt, forkedFrom: null });
    });
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
      await insertEntries(db, fork, copied);
      await setLeaf(db, fork, { branch: null, leaf: from.entry });
    });
  }

  async head(partition: Partition, session: SessionKey): Promise<SessionHead | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      heads(db, tenant)
        .where("reeve_session.user_id", "=", session.userId ?? "")
        .where("reeve_session.session_id", "=", session.id)
        .executeTakeFirst(),
    );
    return row ? toHead(row) : null;
  }

  async list(
    partition: Partition,
    { userId, agentId, unnamed = false }: SessionFilter,
    request: PageRequest,
  ): Promise<Page<SessionHead>> {
    const { size, after } = Page.request(request);
    // No id has a space.
    const [id = "", user = ""] = after?.[1].split(" ") ?? [];
    const rows = await this.#access.read(partition, (db, tenant) =>
      heads(db, tenant)
        .$if(after !== null, (query) =>
          query.where(
            sql<boolean>`(started_at, reeve_session.session_id, reeve_session.user_id) < (${after?.[0]}, ${id}, ${user})`,
          ),
        )
        .$if(userId !== undefined, (query) => query.where("reeve_session.user_id", "=", userId ?? ""))
        .$if(agentId !== undefined, (query) => query.where("agent_id", "=", agentId ?? ""))
        // A literal, so that the database uses the partial index.
        .$if(!unnamed, (query) => query.where("is_named", "=", sql.lit(1)))
        .orderBy("started_at", "desc")
        .orderBy("reeve_session.session_id", "desc")
        .orderBy("reeve_session.user_id", "desc")
        .limit(size + 1)
        .execute(),
    );
    return Page.of(rows.map(toHead), size, (head) => [head.startedAt, `${head.id} ${head.userId ?? ""}`]);
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
    await this.#access.write(partition, async (db, tenant) => {
      await db
        .deleteFrom("reeve_session")
        .where((eb) => eb.and(ownRows(tenant, session)))
        .execute();
      await eraseSessionMemory(db, tenant, session);
    });
  }

  async append(partition: Partition, session: SessionKey, entries: readonly SessionEntry[]): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const own = ownRows(tenant, session);
      const ids = new Set(await insertEntries(db, own, entries));
      const added = entries.filter(({ id }) => ids.has(id));
      const leaves = new Map(added.map(({ branch, id }) => [branch, id]));
      for (const [branch, leaf] of leaves) await setLeaf(db, own, { branch, leaf });
      const times = added.filter(({ branch }) => branch === null).map(({ at }) => at);
      if (times.length > 0) await touch(db, own, Math.max(...times));
    });
  }

  async adopt(
    partition: Partition,
    session: SessionKey,
    branch: RunId,
    expected?: EntryId,
  ): Promise<EntryId | null> {
    return this.#access.write(partition, async (db, tenant) => {
      const own = ownRows(tenant, session);
      await lock(db, own);
      const leaf = await leafOf(db, own, branch);
      const isWanted = leaf !== null && (expected === undefined || leaf === expected);
      if (!isWanted) return leafOf(db, own, null);
      const adopted = await db
        .updateTable("reeve_entry")
        .set({ branch: "" })
        .where((eb) => eb.and({ ...own, branch }))
        .returning("at")
        .execute();
      await setLeaf(db, own, { branch, leaf: null });
      await setLeaf(db, own, { branch: null, leaf });
      await touch(db, own, Math.max(0, ...adopted.map(({ at }) => at)));
      await dropBranches(db, own, await rootBranches(db, own));
      return leaf;
    });
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
    move: { readonly branch: RunId | null; readonly leaf: EntryId | null },
  ): Promise<void> {
    await this.#access.write(partition, (db, tenant) => setLeaf(db, ownRows(tenant, session), move));
  }

  async dropBranch(partition: Partition, session: SessionKey, branch: RunId): Promise<void> {
    await this.#access.write(partition, (db, tenant) => dropBranches(db, ownRows(tenant, session), [branch]));
  }
}

/** Whether it was not there before. */
async function insertSession(
  db: Kysely<Tables>,
  tenant: string,
  session: Omit<SessionHead, "leaf">,
): Promise<boolean> {
  const created = await db
    .insertInto("reeve_session")
    .values({
      ...ownRows(tenant, session),
      started_at: session.startedAt,
      updated_at: session.updatedAt,
      agent_id: session.agentId,
      channel: encodeText(session.channel),
      title: encodeText(session.title),
      metadata: JSON.stringify(session.metadata),
      is_named: session.isNamed ? 1 : 0,
      forked_session: session.forkedFrom?.session ?? null,
      forked_entry: session.forkedFrom?.entry ?? null,
      places: 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("session_id")
    .executeTakeFirst();
  return created !== undefined;
}

/** Waits for other writers of the session, as an append does. */
async function lock(db: Kysely<Tables>, own: OwnRows): Promise<void> {
  await db
    .updateTable("reeve_session")
    .set((eb) => ({ places: eb.ref("places") }))
    .where((eb) => eb.and(own))
    .execute();
}

async function touch(db: Kysely<Tables>, own: OwnRows, at: number): Promise<void> {
  await db
    .updateTable("reeve_session")
    .set({ updated_at: at })
    .where((eb) => eb.and(own))
    .where("updated_at", "<", at)
    .execute();
}

/** Returns the branches of root runs, whose number is 0. They are found by their few leaves, not by their entries. */
async function rootBranches(db: Kysely<Tables>, own: OwnRows): Promise<readonly string[]> {
  const leaves = await db
    .selectFrom("reeve_leaf")
    .select("branch")
    .where((eb) => eb.and(own))
    .where("branch", "like", "%~0")
    .execute();
  return leaves.map(({ branch }) => branch);
}

function heads(db: Kysely<Tables>, tenant: string) {
  return db
    .selectFrom("reeve_session")
    .leftJoin("reeve_leaf", (join) =>
      join
        .onRef("reeve_leaf.tenant_id", "=", "reeve_session.tenant_id")
        .onRef("reeve_leaf.user_id", "=", "reeve_session.user_id")
        .onRef("reeve_leaf.session_id", "=", "reeve_session.session_id")
        .on("reeve_leaf.branch", "=", ""),
    )
    .select([
      "reeve_session.session_id",
      "reeve_session.user_id",
      "started_at",
      "updated_at",
      "agent_id",
      "channel",
      "title",
      "metadata",
      "is_named",
      "forked_session",
      "forked_entry",
      "entry_id",
    ])
    .where("reeve_session.tenant_id", "=", tenant);
}

type HeadRow = Awaited<ReturnType<ReturnType<typeof heads>["executeTakeFirstOrThrow"]>>;

function toHead(row: HeadRow): SessionHead {
  return Json.as({
    id: row.session_id,
    userId: row.user_id === "" ? null : row.user_id,
    startedAt: row.started_at,
    updatedAt: row.updated_at,
    agentId: row.agent_id,
    channel: parseColumn(row.channel, isText),
    title: parseColumn(row.title, isText),
    metadata: parseColumn(row.metadata, isJsonObject) ?? {},
    isNamed: row.is_named === 1,
    leaf: row.entry_id,
    forkedFrom: row.forked_session === null ? null : { session: row.forked_session, entry: row.forked_entry },
  });
}

/** As JSON, because PostgreSQL refuses some characters that a text may contain. */
const encodeText = (text: string | null): string | null => (text === null ? null : JSON.stringify(text));

const isText = (value: Json | undefined): value is string => typeof value === "string";

/** A torn value is left out: it must not make a list unreadable. */
function parseColumn<Value extends Json>(
  text: string | null,
  is: (value: Json | undefined) => value is Value,
): Value | null {
  if (text === null) return null;
  try {
    const value = Json.of(JSON.parse(text));
    return is(value) ? value : null;
  } catch {
    return null;
  }
}
