import { isJsonObject, Json, type PageCursor, type SessionFilter, type SessionHead } from "#kernel";
import { type Kysely, sql } from "kysely";
import { type OwnRows, ownRows } from "./entries.ts";
import type { Tables } from "./tables.ts";

/** Inserts a session. Returns whether there was none. */
export async function insertSession(
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

/** Notes the time of new entries of the main branch. */
export async function touch(db: Kysely<Tables>, own: OwnRows, at: number): Promise<void> {
  await db
    .updateTable("reeve_session")
    .set({ updated_at: at })
    .where((eb) => eb.and(own))
    .where("updated_at", "<", at)
    .execute();
}

/** Returns the head of a session. Null if it was not opened. */
export async function selectHead(db: Kysely<Tables>, own: OwnRows): Promise<SessionHead | null> {
  const row = await heads(db, own.tenant_id)
    .where("reeve_session.user_id", "=", own.user_id)
    .where("reeve_session.session_id", "=", own.session_id)
    .executeTakeFirst();
  return row ? toHead(row) : null;
}

/** Returns heads of sessions, newest first. */
export async function selectHeads(
  db: Kysely<Tables>,
  tenant: string,
  {
    userId,
    agentId,
    unnamed = false,
    after,
    limit,
  }: SessionFilter & { readonly after: PageCursor | null; readonly limit: number },
): Promise<readonly SessionHead[]> {
  // No id has a space.
  const [id = "", user = ""] = after?.[1].split(" ") ?? [];
  const rows = await heads(db, tenant)
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
    .limit(limit)
    .execute();
  return rows.map(toHead);
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
export const encodeText = (text: string | null): string | null =>
  text === null ? null : JSON.stringify(text);

export const isText = (value: Json | undefined): value is string => typeof value === "string";

/** A torn value is left out: it must not make a list unreadable. */
export function parseColumn<Value extends Json>(
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
