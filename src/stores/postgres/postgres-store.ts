import { Kysely, PostgresDialect, sql } from "kysely";
import { checkDuration, type Store } from "#kernel";
import { ChangeNotifier, migrate, SqlStore, type Tables } from "#stores/sql";
import { createPool } from "./connections.ts";
import { Listener, Teller } from "./notifications.ts";
import { tenantAccess } from "./tenant-access.ts";

/** Options of a PostgreSQL store. */
export interface PostgresStoreOptions {
  /** `postgres://role:password@host:port/database`. The role may create tables, and is not a superuser. */
  readonly connectionString: string;
  /** Maximum number of connections, apart from the one that listens. Default: 10. */
  readonly maxConnections?: number;
  /**
   * Milliseconds after which the database aborts a statement, and the call fails. Migrations are not limited. Default: 30,000.
   */
  readonly statementTimeoutMs?: number;
  /** Interval in milliseconds at which waiting readers poll without a notification. Default: 2,000. */
  readonly pollIntervalMs?: number;
}

/** Any number: only migrations of this package take this lock. */
const migrationLock = 7_233_383;

/** Opens a store in PostgreSQL, and creates or updates its tables. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { connectionString, maxConnections = 10, pollIntervalMs = 2_000 } = options;
  const { statementTimeoutMs = 30_000 } = options;
  checkDuration("pollIntervalMs", pollIntervalMs, { min: 1 });
  checkDuration("statementTimeoutMs", statementTimeoutMs, { min: 1 });
  await prepareDatabase(connectionString);
  const pool = createPool({ connectionString, max: maxConnections, statementMs: statementTimeoutMs });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const teller = new Teller(pool);
  const notifier: ChangeNotifier = new ChangeNotifier(() => {
    listener.start();
    const timer = setInterval(() => notifier.ringAll(), pollIntervalMs);
    return () => clearInterval(timer);
  });
  const listener = new Listener(connectionString, {
    onNotification: (partition, tree) => notifier.ring(partition, tree),
    onReconnect: () => notifier.ringAll(),
  });
  const close = async (): Promise<void> => {
    await teller.close();
    await listener.close();
    await db.destroy();
  };
  return new SqlStore({
    access: tenantAccess(db),
    notifier,
    tell: (...given) => teller.tell(...given),
    close,
  });
}

/** Row-level security does not apply to a superuser: a missing condition would reveal all tenants. */
async function refuseMightyRole(db: Kysely<Tables>): Promise<void> {
  const role = sql<{ name: string; mighty: boolean }>`
    select rolname as name, rolsuper or rolbypassrls as mighty from pg_roles where rolname = current_user`;
  const [own] = (await role.execute(db)).rows;
  if (own?.mighty !== false)
    throw new TypeError(
      `the PostgreSQL role ${own?.name ?? "?"} bypasses row-level security, which keeps tenants apart. ` +
        "Connect as an ordinary role that owns its database: `create role reeve login; create database reeve owner reeve`.",
    );
}

/** Checks the role and runs the migrations, on a connection without limits: a migration may take minutes. */
async function prepareDatabase(connectionString: string): Promise<void> {
  const pool = createPool({ connectionString, max: 1, statementMs: null });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    await refuseMightyRole(db);
    await migrateAlone(db);
  } finally {
    await db.destroy();
  }
}

async function migrateAlone(db: Kysely<Tables>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // The role or the database may have a limit of its own.
    await sql`set local statement_timeout = 0`.execute(transaction);
    await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(transaction);
    await migrate(transaction, "postgres");
  });
}
