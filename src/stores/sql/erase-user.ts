import { TreeId, type UserId } from "#kernel";
import type { Kysely } from "kysely";
import { destroyedKey, erasedMarks } from "./erased-trees.ts";
import { eraseUserMemory } from "./memory-owner-rows.ts";
import { eraseUserSpend } from "./spend-rows.ts";
import { eraseUserSums } from "./spend-sums.ts";
import type { Tables } from "./tables.ts";

/** Deletes dependent rows before the rows they are found by. Entries and leaves are deleted with their session. */
export async function eraseUser(db: Kysely<Tables>, tenant: string, user: UserId | null): Promise<void> {
  const own = { tenant_id: tenant, user_id: user ?? "" };
  const runs = db
    .selectFrom("reeve_run")
    .where((eb) => eb.and(own))
    .distinct();
  const destroyed = runs.select((eb) => [
    "tenant_id",
    "tree_id",
    eb.val(destroyedKey.key_id).as("key_id"),
    eb.lit(destroyedKey.wrapped).as("wrapped"),
    eb.lit(erasedMarks.records).as("erased"),
  ]);
  await db
    .insertInto("reeve_key")
    .columns(["tenant_id", "tree_id", "key_id", "wrapped", "erased"])
    .expression(destroyed)
    .onConflict((conflict) =>
      conflict
        .columns(["tenant_id", "tree_id"])
        .doUpdateSet({ ...destroyedKey, erased: erasedMarks.records }),
    )
    .execute();
  for (const table of ["reeve_event", "reeve_approval", "reeve_manifest", "reeve_text"] as const)
    await db
      .deleteFrom(table)
      .where("tenant_id", "=", tenant)
      .where("tree_id", "in", runs.select("tree_id"))
      .execute();
  for (const table of ["reeve_session", "reeve_run", "reeve_cache"] as const)
    await db
      .deleteFrom(table)
      .where((eb) => eb.and(own))
      .execute();
  await eraseUserMemory(db, tenant, user);
  await eraseUserSpend(db, tenant, user);
  if (user !== null) await eraseUserSums(db, tenant, user);
}

/** Returns the trees of a user. */
export async function treesOf(
  db: Kysely<Tables>,
  tenant: string,
  user: UserId | null,
): Promise<readonly TreeId[]> {
  const own = { tenant_id: tenant, user_id: user ?? "" };
  const runs = db.selectFrom("reeve_run").select("tree_id").distinct();
  return (await runs.where((eb) => eb.and(own)).execute()).map(({ tree_id }) => TreeId.of(tree_id));
}
