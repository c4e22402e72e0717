import type { Partition, TreeId } from "#kernel";
import type { Kysely } from "kysely";
import type { Access, Work } from "./access.ts";
import type { Tables } from "./tables.ts";

/** A key that was destroyed. */
export const destroyedKey = { key_id: "", wrapped: null } as const;

/** The marks of an erased tree: of its content, or, with its user, also of its runs, events and approvals. */
export const erasedMarks = { content: 1, records: 2 } as const;

/** A part of a tree. */
interface TreePart {
  readonly tree: TreeId;
  readonly part: keyof typeof erasedMarks;
}

/** Writes a part of a tree, unless that part was erased. */
export async function writeUnlessErased(
  access: Access,
  { partition, tree, part }: TreePart & { readonly partition: Partition },
  work: Work<void>,
): Promise<void> {
  const unlessErased: Work<void> = async (db, tenant) => {
    if (!(await isErased(db, tenant, { tree, part }))) await work(db, tenant);
  };
  await access.write(partition, unlessErased, { tree });
}

/** Returns whether a part of a tree was erased. If so, it must not be written. */
export async function isErased(
  db: Kysely<Tables>,
  tenant: string,
  { tree, part }: TreePart,
): Promise<boolean> {
  const mark = await db
    .selectFrom("reeve_key")
    .select("erased")
    .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree }))
    .where("erased", ">=", erasedMarks[part])
    .executeTakeFirst();
  return mark !== undefined;
}

/**
 * Marks a tree, destroys its key, and removes its texts, cached answers and the bodies of its manifests. It removes no
 * records: there, the mark only prevents late writes.
 */
export async function eraseTree(
  access: Access,
  { partition, tree, part }: TreePart & { readonly partition: Partition },
): Promise<void> {
  const erase: Work<void> = async (db, tenant) => {
    const own = { tenant_id: tenant, tree_id: tree };
    const erased = (await isErased(db, tenant, { tree, part })) ? {} : { erased: erasedMarks[part] };
    await db
      .insertInto("reeve_key")
      .values({ ...own, ...destroyedKey, erased: erasedMarks[part] })
      .onConflict((conflict) =>
        conflict.columns(["tenant_id", "tree_id"]).doUpdateSet({ ...destroyedKey, ...erased }),
      )
      .execute();
    await eraseManifests(db, own);
    await db
      .deleteFrom("reeve_cache")
      .where((eb) => eb.and(own))
      .execute();
  };
  await access.write(partition, erase, { tree, erases: true });
}

/** Removes the texts of a tree, and the bodies of its manifests: all, or those that end with its key. */
export async function eraseManifests(
  db: Kysely<Tables>,
  own: { readonly tenant_id: string; readonly tree_id: TreeId; readonly is_permanent?: 0 },
): Promise<void> {
  await db
    .deleteFrom("reeve_text")
    .where((eb) => eb.and(own))
    .execute();
  await db
    .updateTable("reeve_manifest")
    .set({ body: "null" })
    .where((eb) => eb.and(own))
    .execute();
}
