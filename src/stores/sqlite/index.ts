import { loadWithPackages } from "#base";
import type { Store } from "#kernel";
import type { SqliteStoreOptions } from "./sqlite-store.ts";

export type { SqliteStoreOptions };

const packages = { kysely: () => import("kysely") };
const loadSqlite = () => import("./sqlite-store.ts");

/** A store in one file, for one machine: several processes may have it open. */
export async function sqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { openSqliteStore } = await loadWithPackages("reeve/stores/sqlite", packages, loadSqlite);
  return openSqliteStore(options);
}
