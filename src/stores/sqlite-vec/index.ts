import { loadWithPackages } from "#base";
import type { SqliteVectorStore, SqliteVectorStoreOptions } from "./sqlite-vectors.ts";

export type { SqliteVectorStore, SqliteVectorStoreOptions };

const packages = { "sqlite-vec": () => import("sqlite-vec") };
const loadSqliteVectors = () => import("./sqlite-vectors.ts");

/** Vectors of memory in one file, for one machine, compared by the extension sqlite-vec within their owner. */
export async function sqliteVectorStore(options: SqliteVectorStoreOptions): Promise<SqliteVectorStore> {
  const { openSqliteVectorStore } = await loadWithPackages(
    "reeve/stores/sqlite-vec",
    packages,
    loadSqliteVectors,
  );
  return openSqliteVectorStore(options);
}
