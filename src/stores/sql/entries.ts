import { type EntryId, Json, NotFoundError, type RunId, SessionEntry, type SessionKey } from "#kernel";
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

/** Inserts entries. Returns the ids of new ones. @throws NotFoundError */
export async function insertEntries(
  db: Kysely<Tables>,
  own: OwnRows,
  entries: readonly SessionEntry[],
): Promise<readonly string[]> {
  // Also locks the session, so that places follow the order in which writers come.
  const taken = await db
    .updateTable("reeve_session")
    .set(({ eb }) => ({ places: eb("places", "+", entries.length) }))
    .where((eb) => eb.and(own))
    .returning("places")
    .executeTakeFirst();
  if (!taken) throw missingSession(own.session_id);
  const first = taken.places - entries.length;
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

/** @throws NotFoundError if the session has no such entry. */
export async function setLeaf(
  db: Kysely<Tables>,
  own: OwnRows,
  { branch, leaf }: { readonly branch: RunId | null; readonly leaf: EntryId | null },
): Promise<void> {
  const row = { ...own, branch: branch ?? "" };
  if (leaf === null) {
    await db
      .deleteFrom("reeve_leaf")
      .where((eb) => eb.and(row))
      .execute();
    return;
  }
  const entry = await db
    .selectFrom("reeve_entry")
    .select("entry_id")
    .where((eb) => eb.and({ ...own, entry_id: leaf }))
    .executeTakeFirst();
  if (!entry) throw missingEntry(leaf);
  await db
    .insertInto("reeve_leaf")
    .values({ ...row, entry_id: leaf })
    .onConflict((conflict) =>
      conflict.columns(["tenant_id", "user_id", "session_id", "branch"]).doUpdateSet({ entry_id: leaf }),
    )
    .execute();
}

/** Returns the leaf of a branch. Null if it has none, or there is no such branch. */
export async function leafOf(
  db: Kysely<Tables>,
  own: OwnRows,
  branch: RunId | null,
): Promise<EntryId | null> {
  const row = await db
    .selectFrom("reeve_leaf")
    .select("entry_id")
    .where((eb) => eb.and({ ...own, branch: branch ?? "" }))
    .executeTakeFirst();
  return Json.as(row?.entry_id ?? null);
}

export async function dropBranches(
  db: Kysely<Tables>,
  own: OwnRows,
  branches: readonly string[],
): Promise<void> {
  if (branches.length === 0) return;
  for (const table of ["reeve_entry", "reeve_leaf"] as const)
    await db
      .deleteFrom(table)
      .where((eb) => eb.and(own))
      .where("branch", "in", branches)
      .execute();
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
