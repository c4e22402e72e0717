import {
  type Adoption,
  type AdoptionOutcome,
  type AppendFence,
  type EntryId,
  findTurnStart,
  Json,
  type RunId,
  type SessionEntry,
  type Settlement,
} from "#kernel";
import type { Kysely } from "kysely";
import { insertEntries, lockSession, type OwnRows } from "./entries.ts";
import { leavesOf, noteSettled, setLeaf } from "./leaves.ts";
import { touch } from "./session-heads.ts";
import type { Tables } from "./tables.ts";

/** A turn, by the branch of its root run. */
interface Turn {
  readonly branch: RunId;
}

/** Whether entries may be appended to a locked session. */
export async function mayAppend(
  db: Kysely<Tables>,
  own: OwnRows,
  { entries, fence }: { readonly entries: readonly SessionEntry[]; readonly fence: AppendFence },
): Promise<boolean> {
  const { follows, turn } = fence;
  if (entries.length === 0) return true;
  const branches = new Set(entries.map(({ branch }) => branch));
  const leaves = await leavesOf(db, own, [...branches, ...(turn === undefined ? [] : [turn])]);
  if (leaves.hasSettled) return false;
  if (follows === undefined) return true;
  const leaf = leaves.getLeaf(entries[0]?.branch ?? null);
  return leaf === follows || leaf === entries.at(-1)?.id;
}

/** Adopts a turn, see `SessionStore`. */
export async function adoptTurn(
  db: Kysely<Tables>,
  own: OwnRows,
  { branch, last, follows, from = follows }: Adoption & Turn,
): Promise<AdoptionOutcome> {
  if ((await lockSession(db, own)) === null) return "incomplete";
  const leaves = await leavesOf(db, own, [null, branch]);
  if (leaves.hasSettled) return "settled";
  const isWritten = leaves.getLeaf(branch) === last;
  if (!isWritten && (await isOnMain(db, own, last))) return "adopted";
  if (leaves.getLeaf(null) !== follows) return "overtaken";
  if (!isWritten || (await startOf(db, own, { branch, last })) !== from) return "incomplete";
  if (from !== null && from !== follows && !(await isOnMain(db, own, from))) return "incomplete";
  await setLeaf(db, own, { branch, leaf: null });
  await merge(db, own, { branch, last });
  return "adopted";
}

/** Settles a turn, see `SessionStore`. */
export async function settleTurn(
  db: Kysely<Tables>,
  own: OwnRows,
  { branch, end, goesBack = false }: Settlement & Turn,
): Promise<boolean> {
  const place = await lockSession(db, own, end ? 1 : 0);
  if (place === null) return true;
  const leaves = await leavesOf(db, own, [null, branch]);
  if (leaves.hasSettled) return true;
  const last = leaves.getLeaf(branch);
  if (end && last !== null) {
    const start = await startOf(db, own, { branch, last });
    if (start !== null && !(await isOnMain(db, own, start))) return false;
    if (!goesBack && start !== leaves.getLeaf(null)) return false;
    await insertEntries(db, own, { entries: [{ ...end, parentId: last, branch }], first: place });
    await merge(db, own, { branch, last: end.id });
  } else
    await db
      .deleteFrom("reeve_entry")
      .where((eb) => eb.and({ ...own, branch }))
      .execute();
  await noteSettled(db, own, branch);
  return true;
}

/** Makes the entries of a branch those of the main one, and the last of them its leaf. */
async function merge(
  db: Kysely<Tables>,
  own: OwnRows,
  { branch, last }: Turn & { readonly last: EntryId },
): Promise<void> {
  const merged = await db
    .updateTable("reeve_entry")
    .set({ branch: "" })
    .where((eb) => eb.and({ ...own, branch }))
    .returning("at")
    .execute();
  await setLeaf(db, own, { branch: null, leaf: last });
  await touch(db, own, Math.max(0, ...merged.map(({ at }) => at)));
}

/** The entry that the entries of a branch begin below. */
async function startOf(
  db: Kysely<Tables>,
  own: OwnRows,
  { branch, last }: Turn & { readonly last: EntryId },
): Promise<EntryId | null> {
  const rows = await db
    .selectFrom("reeve_entry")
    .select(["entry_id", "parent_id"])
    .where((eb) => eb.and({ ...own, branch }))
    .execute();
  const parents = new Map(
    rows.map(({ entry_id, parent_id }) => [Json.as<EntryId>(entry_id), Json.as<EntryId | null>(parent_id)]),
  );
  return findTurnStart(parents, last);
}

async function isOnMain(db: Kysely<Tables>, own: OwnRows, id: EntryId): Promise<boolean> {
  const row = await db
    .selectFrom("reeve_entry")
    .select("branch")
    .where((eb) => eb.and({ ...own, entry_id: id }))
    .executeTakeFirst();
  return row?.branch === "";
}
