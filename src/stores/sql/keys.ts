import { KeyDestroyedError, type KeyStore, type Partition, type TreeId, type WrappedKey } from "#kernel";
import type { Kysely } from "kysely";
import type { Access } from "./access.ts";
import { destroyedKey } from "./erased-trees.ts";
import type { Tables } from "./tables.ts";

export class SqlKeys implements KeyStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, tree: TreeId | null, key: WrappedKey): Promise<WrappedKey> {
    return this.#access.write(partition, async (db, tenant) => {
      const wrapped = Buffer.from(key.wrapped).toString("base64");
      await db
        .insertInto("reeve_key")
        .values({ tenant_id: tenant, tree_id: tree ?? "", key_id: key.id, wrapped, erased: 0 })
        .onConflict((conflict) =>
          conflict
            .columns(["tenant_id", "tree_id"])
            .doUpdateSet({ wrapped })
            .where("reeve_key.key_id", "=", key.id),
        )
        .execute();
      return (await readKey(db, tenant, tree)) ?? key;
    });
  }

  async get(partition: Partition, tree: TreeId | null): Promise<WrappedKey | null> {
    return this.#access.read(partition, (db, tenant) => readKey(db, tenant, tree));
  }

  async destroy(partition: Partition, tree: TreeId | null): Promise<void> {
    await this.#access.write(partition, (db, tenant) =>
      db
        .insertInto("reeve_key")
        .values({ tenant_id: tenant, tree_id: tree ?? "", ...destroyedKey, erased: 0 })
        .onConflict((conflict) => conflict.columns(["tenant_id", "tree_id"]).doUpdateSet(destroyedKey))
        .execute(),
    );
  }
}

/** @throws KeyDestroyedError */
async function readKey(db: Kysely<Tables>, tenant: string, tree: TreeId | null): Promise<WrappedKey | null> {
  const row = await db
    .selectFrom("reeve_key")
    .select(["key_id", "wrapped"])
    .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree ?? "" }))
    .executeTakeFirst();
  if (!row) return null;
  if (row.wrapped === null)
    throw new KeyDestroyedError({ partition: tree === null ? tenant : `${tenant}/${tree}` });
  return { id: row.key_id, wrapped: Uint8Array.from(Buffer.from(row.wrapped, "base64")) };
}
