import { type EntryId, Json, NotFoundError, SessionEntry, type SessionKey } from "#kernel";
import { type Kysely, sql } from "kysely";
import { batches } from "./access.ts";
import type { Tables } from "./tables.ts";

interface Row {
  readonly entry_id: string;
  readonly parent_id: string | null;
  readonly branch: string;
  readonly at: number;
  readonly body: string;
}

/** A session in the database: the columns that name it in every table. */
export interface OwnRows {
  readonly tenant_id: string;
  readonly user_id: string;
  readonly session_id: string;
}

export const ownRows = (tenant: string, { id, userId }: SessionKey): OwnRows => ({
  tenant_id: tenant,
  user_id: userId ?? "",
  session_id: id,
});

export const missingSession = (id: string): NotFoundError => new NotFoundError({ what: "session", id });
export const missingEntry = (id: EntryId): NotFoundError => new NotFoundError({ what: "entry", id });

/**
 * Locks the session until the transaction ends: what is read from now on is as the last writer left it. Also takes the
 * places of new entries, so that they follow the order in which writers come. Returns the first place. Null: there is no
 * such session.
 */
export async function lockSession(db: Kysely<Tables>, own: OwnRows, places = 0): Promise<number | null> {
  const taken = await db
    .updateTable("reeve_session")
    .set(({ eb }) => ({ places: eb("places", "+", places) }))
    .where((eb) => eb.and(own))
    .returning("places")
    .executeTakeFirst();
  return taken ? taken.places - places : null;
}

/** Inserts entries from a place on. Returns the ids of new ones. */
export async function insertEntries(
  db: Kysely<Tables>,
  own: OwnRows,
  { entries, first }: { readonly entries: readonly SessionEntry[]; readonly first: number },
): Promise<readonly string[]> {
  const rows = entries.map((entry, index) => ({
    ...own,
    entry_id: entry.id,
    place: first + index,
    parent_id: entry.parentId,
    branch: entry.branch ?? "",
    at: entry.at,
    body: JSON.stringify(SessionEntry.encode(entry)),
  }));
  const added: string[] = [];
  for (const batch of batches(rows)) {
    const query = db.insertInto("reeve_entry").values(batch);
    const kept = await query
      .onConflict((conflict) => conflict.doNothing())
      .returning("entry_id")
      .execute();
    added.push(...kept.map(({ entry_id }) => entry_id));
  }
  return added;
}

/** A cross join keeps SQLite from reading the whole session for each entry of the path. */
export async function selectPath(
  db: Kysely<Tables>,
  own: OwnRows,
  { from, limit }: { readonly from: EntryId; readonly limit: number },
): Promise<readonly SessionEntry[]> {
  const { rows } = await sql<Row>`
    with recursive path as (
      select entry_id, parent_id, branch, at, body, 1 as depth from reeve_entry
      where tenant_id = ${own.tenant_id} and user_id = ${own.user_id} and session_id = ${own.session_id}
        and entry_id = ${from}
      union all
      select entry.entry_id, entry.parent_id, entry.branch, entry.at, entry.body, path.depth + 1
      from path cross join reeve_entry as entry
      where entry.tenant_id = ${own.tenant_id} and entry.user_id = ${own.user_id}
        and entry.session_id = ${own.session_id} and entry.entry_id = path.parent_id and path.depth < ${limit}
    )
    select entry_id, parent_id, branch, at, body from path order by depth`.execute(db);
  return rows.map(entryOf);
}

export async function selectEntries(
  db: Kysely<Tables>,
  own: OwnRows,
  { after, limit }: { readonly after: EntryId | null; readonly limit: number },
): Promise<readonly SessionEntry[]> {
  const all = db.selectFrom("reeve_entry").where((eb) => eb.and(own));
  const rows = await all
    .select(["entry_id", "parent_id", "branch", "at", "body"])
    .$if(after !== null, (query) =>
      query.where("place", ">", all.select("place").where("entry_id", "=", after ?? "")),
    )
    .orderBy("place")
    .limit(limit)
    .execute();
  return rows.map(entryOf);
}

function entryOf({ entry_id, parent_id, branch, at, body }: Row): SessionEntry {
  const base = { id: entry_id, parentId: parent_id, at, branch: branch === "" ? null : branch };
  return SessionEntry.decode(Json.as(base), parseEntry(body));
}

/** A torn body must not make its session unreadable. */
function parseEntry(body: string): Json {
  try {
    return Json.of(JSON.parse(body));
  } catch {
    return body;
  }
}
