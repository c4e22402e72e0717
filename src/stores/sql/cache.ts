import { sql } from "kysely";
import {
  TreeId,
  UserId,
  type CacheEntry,
  type CacheLimits,
  type CacheStore,
  type Json,
  type Partition,
} from "#kernel";
import type { Access } from "./access.ts";
import { writeUnlessErased } from "./erased-trees.ts";

export class SqlCache implements CacheStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async get(partition: Partition, key: string, now: number): Promise<CacheEntry | undefined> {
    const row = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_cache")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, key }))
        .where("expires_at", ">", now)
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    const value: Json = JSON.parse(row.body);
    return {
      key,
      value,
      at: row.at,
      until: row.expires_at,
      treeId: TreeId.of(row.tree_id),
      userId: row.user_id === "" ? null : UserId.of(row.user_id),
      isPermanent: row.is_permanent === 1,
    };
  }

  async put(partition: Partition, entry: CacheEntry, { max, maxBytes }: CacheLimits): Promise<void> {
    const { key, at } = entry;
    const body = JSON.stringify(entry.value);
    const size = Buffer.byteLength(body);
    if (size > maxBytes || max < 1) return;
    const row = {
      user_id: entry.userId ?? "",
      tree_id: entry.treeId,
      is_permanent: Number(entry.isPermanent),
      at,
      expires_at: entry.until,
      size,
      body,
    };
    await writeUnlessErased(
      this.#access,
      { partition, tree: entry.treeId, part: "content" },
      async (db, tenant) => {
        await db
          .insertInto("reeve_cache")
          .values({ tenant_id: tenant, key, ...row })
          .onConflict((conflict) => conflict.columns(["tenant_id", "key"]).doUpdateSet(row))
          .execute();
      },
    );
    // In a separate transaction: writers that each hold an entry and wait for another's would deadlock.
    await this.#access.write(partition, async (db, tenant) => {
      const own = db.deleteFrom("reeve_cache").where("tenant_id", "=", tenant);
      await own.where("expires_at", "<=", at).execute();
      const surplus = sql<string>`select key from (
        select key, sum(size) over newest_first as bytes, row_number() over newest_first as place
        from reeve_cache where tenant_id = ${tenant}
        window newest_first as (order by at desc, key desc rows unbounded preceding)
      ) as kept where bytes > ${maxBytes} or place > ${max}`;
      await own.where(sql<boolean>`key in (${surplus})`).execute();
    });
  }

  async erase(
    partition: Partition,
    tree: TreeId,
    { lasting = false }: { readonly lasting?: boolean } = {},
  ): Promise<void> {
    await this.#access.write(partition, (db, tenant) =>
      db
        .deleteFrom("reeve_cache")
        .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree }))
        .$if(!lasting, (query) => query.where("is_permanent", "=", 0))
        .execute(),
    );
  }
}
