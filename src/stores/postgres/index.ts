import { loadWithPackages } from "#base";
import type { Store } from "#kernel";
import type { PostgresStoreOptions } from "./postgres-store.ts";

export type { PostgresStoreOptions };

const packages = { kysely: () => import("kysely"), pg: () => import("pg") };
const loadPostgres = () => import("./postgres-store.ts");

/** A store in PostgreSQL 15 or newer, for any number of processes. Creates and updates its tables. */
export async function postgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { openPostgresStore } = await loadWithPackages("reeve/stores/postgres", packages, loadPostgres);
  return openPostgresStore(options);
}
