import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Kysely, sql } from "kysely";
import { Partition, type Store, StoreRejectionError } from "#kernel";
import { type Access, ChangeNotifier, migrate, SqlStore, type Tables } from "#stores/sql";
import { nodeSqlite, whenFree } from "./node-sqlite.ts";

/** Options of a SQLite store. */
export interface SqliteStoreOptions {
  /** Path of the database file, created if missing. SQLite puts its log and index files beside it. */
  readonly path: string;
}

/**
 * Interval in milliseconds at which a waiting reader checks for writes of other processes. A check is one call without
 * I/O.
 */
const pollIntervalMs = 20;

/** Opens a store in one file. */
export async function openSqliteStore({ path }: SqliteStoreOptions): Promise<Store> {
  if (path !== ":memory:") createPrivate(path);
  const file = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5 });
  const settings = "pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on";
  await whenFree(() => file.exec(settings));
  const db = new Kysely<Tables>({ dialect: nodeSqlite(file) });
  try {
    await db.transaction().execute((transaction) => migrate(transaction, "sqlite"));
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const access: Access = {
    read: (partition, work) => work(db, Partition.key(partition)),
    write: async (partition, work, { erases = false } = {}) => {
      const result = await db
        .transaction()
        .execute((transaction) => work(transaction, Partition.key(partition)))
        .catch((error: unknown) => {
          throw toRejection(error);
        });
      // The log still has what was erased. If a reader in another process needs the log, it stays until the next time.
      if (erases) await sql`pragma wal_checkpoint(truncate)`.execute(db);
      return result;
    },
  };
  const notifier: ChangeNotifier = new ChangeNotifier(() => watchVersion(file, () => notifier.ringAll()));
  return new SqlStore({ access, notifier, tell: () => {}, close: () => db.destroy() });
}

// SQLite's codes of a value that is too big, of a wrong type or missing, or that a check or a trigger refuses.
const rejectedCodes = new Set([18, 20, 25, 275, 1299, 1811, 3091]);

/** Returns the error of a write that no repetition can mend as a rejection, and others as they are. */
function toRejection(error: unknown): unknown {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
  return rejectedCodes.has(code) ? new StoreRejectionError({ reason: String(code), cause: error }) : error;
}

/**
 * Creates a file that only its owner can read; SQLite gives its other files the same mode. An existing file is not
 * opened, because closing it would release the locks of this process's other connections.
 */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** Calls `onChange` when another connection has committed. Returns a function that stops the timer. */
function watchVersion(file: DatabaseSync, onChange: () => void): () => void {
  const look = file.prepare("pragma data_version");
  const version = (): unknown => look.get()?.["data_version"];
  let known = version();
  const timer = setInterval(() => {
    const now = version();
    if (now === known) return;
    known = now;
    onChange();
  }, pollIntervalMs);
  return () => clearInterval(timer);
}
