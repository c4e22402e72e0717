import { type EntryId, Json, type RunId } from "#kernel";
import type { Kysely } from "kysely";
import { missingEntry, type OwnRows } from "./entries.ts";
import type { Tables } from "./tables.ts";

/*
 * The leaves of a session's branches: one row for each branch. The row of a settled turn names no entry. It stays as long
 * as the session, so a write that arrives later is refused.
 */

/** Moves a leaf. @throws NotFoundError if the session has no such entry. */
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
  await writeLeaf(db, { ...row, entry_id: leaf });
}

/** The leaves of some branches. */
export interface Leaves {
  /** Returns the leaf of a branch. Null if it has none. */
  getLeaf(branch: RunId | null): EntryId | null;
  /** Whether one of the turns is settled. */
  readonly hasSettled: boolean;
}

/** Reads the leaves of some branches. */
export async function leavesOf(
  db: Kysely<Tables>,
  own: OwnRows,
  branches: readonly (RunId | null)[],
): Promise<Leaves> {
  const names = branches.map((branch) => branch ?? "");
  const rows = await db
    .selectFrom("reeve_leaf")
    .select(["branch", "entry_id"])
    .where((eb) => eb.and(own))
    .where("branch", "in", names)
    .execute();
  const ids = new Map(rows.map(({ branch, entry_id }) => [branch, entry_id]));
  return {
    // A settled turn has no leaf.
    getLeaf: (branch) => Json.as(ids.get(branch ?? "") || null),
    hasSettled: rows.some(({ entry_id }) => entry_id === ""),
  };
}

/** Returns the leaf of a branch. Null if it has none, or there is no such branch. */
export async function leafOf(
  db: Kysely<Tables>,
  own: OwnRows,
  branch: RunId | null,
): Promise<EntryId | null> {
  return (await leavesOf(db, own, [branch])).getLeaf(branch);
}

/** Notes that a turn is settled. */
export async function noteSettled(db: Kysely<Tables>, own: OwnRows, branch: RunId): Promise<void> {
  await writeLeaf(db, { ...own, branch, entry_id: "" });
}

async function writeLeaf(db: Kysely<Tables>, row: Tables["reeve_leaf"]): Promise<void> {
  const { entry_id } = row;
  await db
    .insertInto("reeve_leaf")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["tenant_id", "user_id", "session_id", "branch"]).doUpdateSet({ entry_id }),
    )
    .execute();
}
