import { type EntryId, Json, NotFoundError, type RunId, SessionEntry, type SessionId } from "#kernel";
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

export const missingEntry = (id: EntryId): NotFoundError => new NotFoundError({ what: "entry", id });

/** Ids of those that were not there before. @throws NotFoundError */
export async function insertEntries(
  db: Kysely<Tables>,
  tenant: string,
  session: SessionId,
  entries: readonly SessionEntry[],
): Promise<readonly string[]> {
  // Also locks the session, so that places follow the order in which writers come.
  const taken = await db
    .updateTable("reeve_session")
    .set(({ eb }) => ({ places: eb("places", "+", entries.length) }))
    .where("tenant_id", "=", tenant)
    .where("session_id", "=", session)
    .returning("places")
    .executeTakeFirst();
  if (!taken) throw new NotFoundError({ what: "session", id: session });
  const first = taken.places - entries.length;
  const rows = entries.map((entry, index) => ({
    tenant_id: tenant,
    session_id: session,
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

export async function pathOf(
  db: Kysely<Tables>,
  tenant: string,
  session: SessionId,
  from: EntryId,
  limit: number,
): Promise<readonly SessionEntry[]> {
  const { rows } = await sql<Row>`
    with recursive path as (
      select entry_id, parent_id, branch, at, body, 1 as depth from reeve_entry
      where tenant_id = ${tenant} and session_id = ${session} and entry_id = ${from}
      union all
      select entry.entry_id, entry.parent_id, entry.branch, entry.at, entry.body, path.depth + 1
      from path join reeve_entry as entry
        on entry.tenant_id = ${tenant} and entry.session_id = ${session} and entry.entry_id = path.parent_id
      where path.depth < ${limit}
    )
    select entry_id, parent_id, branch, at, body from path order by depth`.execute(db);
  return rows.map(entryOf);
}

export async function entriesOf(
  db: Kysely<Tables>,
  tenant: string,
  session: SessionId,
  after: EntryId | null,
  limit: number,
): Promise<readonly SessionEntry[]> {
  const own = db.selectFrom("reeve_entry").where("tenant_id", "=", tenant).where("session_id", "=", session);
  const rows = await own
    .select(["entry_id", "parent_id", "branch", "at", "body"])
    .$if(after !== null, (query) =>
      query.where("place", ">", own.select("place").where("entry_id", "=", after ?? "")),
    )
    .orderBy("place")
    .limit(limit)
    .execute();
  return rows.map(entryOf);
}

/** @throws NotFoundError if the session has no such entry. */
export async function setLeaf(
  db: Kysely<Tables>,
  branch: { readonly tenant: string; readonly session: SessionId; readonly branch: RunId | null },
  leaf: EntryId | null,
): Promise<void> {
  const row = { tenant_id: branch.tenant, session_id: branch.session, branch: branch.branch ?? "" };
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
    .where((eb) => eb.and({ tenant_id: branch.tenant, session_id: branch.session, entry_id: leaf }))
    .executeTakeFirst();
  if (!entry) throw missingEntry(leaf);
  await db
    .insertInto("reeve_leaf")
    .values({ ...row, entry_id: leaf })
    .onConflict((conflict) =>
      conflict.columns(["tenant_id", "session_id", "branch"]).doUpdateSet({ entry_id: leaf }),
    )
    .execute();
}

function entryOf({ entry_id, parent_id, branch, at, body }: Row): SessionEntry {
  const base = { id: entry_id, parentId: parent_id, at, branch: branch === "" ? null : branch };
  return SessionEntry.decode(Json.as(base), said(body));
}

/** A torn body must not make its session unreadable. */
function said(body: string): Json {
  try {
    return Json.of(JSON.parse(body));
  } catch {
    return body;
  }
}
