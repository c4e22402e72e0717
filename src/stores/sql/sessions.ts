import { Json, Page, type PageRequest, type Partition, type SessionEntry } from "#kernel";
import type { EntryId, RunId, SessionHead, SessionId, SessionStore, UserId } from "#kernel";
import type { Kysely } from "kysely";
import type { Access } from "./access.ts";
import { entriesOf, insertEntries, missingEntry, pathOf, setLeaf } from "./entries.ts";
import { behind } from "./newest-first.ts";
import type { Tables } from "./tables.ts";

export class SqlSessions implements SessionStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async open(partition: Partition, session: Omit<SessionHead, "leaf" | "forkedFrom">): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      await create(db, tenant, { ...session, forkedFrom: null });
    });
  }

  async fork(
    partition: Partition,
    from: { readonly session: SessionId; readonly entry: EntryId },
    into: { readonly id: SessionId; readonly startedAt: number },
  ): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const source = await db
        .selectFrom("reeve_session")
        .select(["user_id", "places"])
        .where("tenant_id", "=", tenant)
        .where("session_id", "=", from.session)
        .executeTakeFirst();
      const path = source ? await pathOf(db, tenant, from.session, from.entry, source.places) : [];
      if (!source || path.length === 0) throw missingEntry(from.entry);
      const userId: UserId | null = source.user_id === "" ? null : Json.as(source.user_id);
      if (!(await create(db, tenant, { ...into, userId, forkedFrom: from }))) return;
      const copied = path.toReversed().map((entry) => Object.assign({}, entry, { branch: null }));
      await insertEntries(db, tenant, into.id, copied);
      await setLeaf(db, { tenant, session: into.id, branch: null }, from.entry);
    });
  }

  async head(partition: Partition, session: SessionId): Promise<SessionHead | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      heads(db, tenant).where("reeve_session.session_id", "=", session).executeTakeFirst(),
    );
    return row ? headOf(row) : null;
  }

  async list(
    partition: Partition,
    { userId }: { readonly userId?: UserId | null },
    request: PageRequest,
  ): Promise<Page<SessionHead>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(partition, (db, tenant) =>
      heads(db, tenant)
        .where((eb) => behind(eb, { at: "started_at", id: "reeve_session.session_id", place: after }))
        .$if(userId !== undefined, (query) => query.where("user_id", "=", userId ?? ""))
        .orderBy("started_at", "desc")
        .orderBy("reeve_session.session_id", "desc")
        .limit(size + 1)
        .execute(),
    );
    return Page.of(rows.map(headOf), size, (head) => [head.startedAt, head.id]);
  }

  async append(partition: Partition, session: SessionId, entries: readonly SessionEntry[]): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const added = new Set(await insertEntries(db, tenant, session, entries));
      const leaves = new Map(entries.filter(({ id }) => added.has(id)).map(({ branch, id }) => [branch, id]));
      for (const [branch, leaf] of leaves) await setLeaf(db, { tenant, session, branch }, leaf);
    });
  }

  async path(
    partition: Partition,
    session: SessionId,
    from: EntryId,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    return this.#access.read(partition, (db, tenant) => pathOf(db, tenant, session, from, limit));
  }

  async entries(
    partition: Partition,
    session: SessionId,
    after: EntryId | null,
    limit: number,
  ): Promise<readonly SessionEntry[]> {
    return this.#access.read(partition, (db, tenant) => entriesOf(db, tenant, session, after, limit));
  }

  async leaf(partition: Partition, session: SessionId, branch: RunId | null): Promise<EntryId | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_leaf")
        .select("entry_id")
        .where("tenant_id", "=", tenant)
        .where("session_id", "=", session)
        .where("branch", "=", branch ?? "")
        .executeTakeFirst(),
    );
    return Json.as(row?.entry_id ?? null);
  }

  async moveLeaf(
    partition: Partition,
    session: SessionId,
    branch: RunId | null,
    leaf: EntryId | null,
  ): Promise<void> {
    await this.#access.write(partition, (db, tenant) => setLeaf(db, { tenant, session, branch }, leaf));
  }

  async dropBranch(partition: Partition, session: SessionId, branch: RunId): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      for (const table of ["reeve_entry", "reeve_leaf"] as const)
        await db
          .deleteFrom(table)
          .where("tenant_id", "=", tenant)
          .where("session_id", "=", session)
          .where("branch", "=", branch)
          .execute();
    });
  }
}

/** Whether it was not there before. */
async function create(
  db: Kysely<Tables>,
  tenant: string,
  { id, userId, startedAt, forkedFrom }: Omit<SessionHead, "leaf">,
): Promise<boolean> {
  const created = await db
    .insertInto("reeve_session")
    .values({
      tenant_id: tenant,
      session_id: id,
      user_id: userId ?? "",
      started_at: startedAt,
      forked_session: forkedFrom?.session ?? null,
      forked_entry: forkedFrom?.entry ?? null,
      places: 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("session_id")
    .executeTakeFirst();
  return created !== undefined;
}

function heads(db: Kysely<Tables>, tenant: string) {
  return db
    .selectFrom("reeve_session")
    .leftJoin("reeve_leaf", (join) =>
      join
        .onRef("reeve_leaf.tenant_id", "=", "reeve_session.tenant_id")
        .onRef("reeve_leaf.session_id", "=", "reeve_session.session_id")
        .on("reeve_leaf.branch", "=", ""),
    )
    .select([
      "reeve_session.session_id",
      "user_id",
      "started_at",
      "forked_session",
      "forked_entry",
      "entry_id",
    ])
    .where("reeve_session.tenant_id", "=", tenant);
}

type HeadRow = Awaited<ReturnType<ReturnType<typeof heads>["executeTakeFirstOrThrow"]>>;

function headOf(row: HeadRow): SessionHead {
  return Json.as({
    id: row.session_id,
    userId: row.user_id === "" ? null : row.user_id,
    startedAt: row.started_at,
    leaf: row.entry_id,
    forkedFrom: row.forked_session === null ? null : { session: row.forked_session, entry: row.forked_entry },
  });
}
