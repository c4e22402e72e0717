import { type Kysely, sql } from "kysely";
import { cacheMigration } from "./cache-migration.ts";
import { memoryMigration } from "./memory-migration.ts";
import { memoryTables } from "./memory-owner-rows.ts";
import { recordsMigration } from "./records-migration.ts";
import { spendMigration, spendSumMigration, spendTables } from "./spend-migration.ts";
import type { Tables } from "./tables.ts";
import { webhookMigration } from "./webhook-migration.ts";

type Dialect = "sqlite" | "postgres";
type Migration = (dialect: Dialect) => readonly string[];

/** Ids compare byte by byte everywhere, so that pages have one order. */
const idType = { sqlite: "text", postgres: 'text collate "C"' } as const;

const tablesOfTheFirst = (id: string): Readonly<Record<string, string>> => ({
  reeve_run: `
    run_id ${id} not null, tree_id ${id} not null, parent_run_id ${id}, agent_id ${id} not null,
    agent_type ${id} not null, user_id ${id} not null, session_id ${id} not null, status ${id} not null,
    stop_reason ${id}, started_at bigint not null, ended_at bigint, spend bigint not null, seq bigint not null,
    primary key (tenant_id, run_id)`,
  reeve_event: `
    tree_id ${id} not null, seq bigint not null, body text not null,
    primary key (tenant_id, tree_id, seq)`,
  reeve_session: `
    session_id ${id} not null, user_id ${id} not null, started_at bigint not null, forked_session ${id},
    forked_entry ${id}, places bigint not null,
    primary key (tenant_id, session_id)`,
  reeve_leaf: `
    session_id ${id} not null, branch ${id} not null, entry_id ${id} not null,
    primary key (tenant_id, session_id, branch),
    foreign key (tenant_id, session_id) references reeve_session on delete cascade`,
  reeve_entry: `
    session_id ${id} not null, entry_id ${id} not null, place bigint not null, parent_id ${id},
    branch ${id} not null, at bigint not null, body text not null,
    primary key (tenant_id, session_id, entry_id),
    foreign key (tenant_id, session_id) references reeve_session on delete cascade`,
  reeve_fact: `
    user_id ${id} not null, key ${id} not null, valid_from bigint not null, valid_to bigint, value text not null,
    primary key (tenant_id, user_id, key, valid_from)`,
  reeve_approval: `
    approval_id ${id} not null, tree_id ${id} not null, requested_at bigint not null, body text not null,
    decision text,
    primary key (tenant_id, approval_id)`,
  reeve_audit: `
    link bigint not null, at bigint not null, kind text not null, data text not null, source ${id} not null,
    key_id text not null, previous text not null, hash text not null,
    primary key (tenant_id, link), unique (tenant_id, source)`,
  reeve_manifest: `
    step_id ${id} not null, run_id ${id} not null, tree_id ${id} not null, at bigint not null, parts text not null,
    primary key (tenant_id, step_id)`,
  reeve_key: `
    tree_id ${id} not null, key_id text not null, wrapped text,
    primary key (tenant_id, tree_id)`,
});

const indexesOfTheFirst = [
  "reeve_run_newest on reeve_run (tenant_id, started_at, run_id)",
  "reeve_run_roots on reeve_run (tenant_id, started_at, run_id) where parent_run_id is null",
  "reeve_run_status on reeve_run (tenant_id, status, started_at, run_id)",
  "reeve_run_agent on reeve_run (tenant_id, agent_type, started_at, run_id)",
  "reeve_run_user on reeve_run (tenant_id, user_id, started_at, run_id)",
  "reeve_run_session on reeve_run (tenant_id, session_id, started_at, run_id)",
  "reeve_run_tree on reeve_run (tenant_id, tree_id)",
  "reeve_session_newest on reeve_session (tenant_id, started_at, session_id)",
  "reeve_session_user on reeve_session (tenant_id, user_id, started_at, session_id)",
  "reeve_entry_place on reeve_entry (tenant_id, session_id, place)",
  "reeve_entry_branch on reeve_entry (tenant_id, session_id, branch)",
  "reeve_approval_newest on reeve_approval (tenant_id, requested_at, approval_id)",
  "reeve_approval_pending on reeve_approval (tenant_id, requested_at, approval_id) where decision is null",
  "reeve_approval_tree on reeve_approval (tenant_id, tree_id, requested_at, approval_id)",
  "reeve_manifest_run on reeve_manifest (tenant_id, run_id, at)",
  "reeve_manifest_tree on reeve_manifest (tenant_id, tree_id)",
];

const sessionTables = ["reeve_session", "reeve_leaf", "reeve_entry"] as const;

/**
 * Makes the user part of the key of sessions, entries and leaves. Not every database can change a key in place, so new
 * tables take over the rows and names of the old ones. Workers with earlier migrations cannot use them.
 */
function userInSessionKey(dialect: Dialect): readonly string[] {
  const id = idType[dialect];
  const key = `tenant_id ${id} not null, user_id ${id} not null, session_id ${id} not null`;
  const ofSession = `foreign key (tenant_id, user_id, session_id) references next_session on delete cascade`;
  const owner = `join reeve_session as own on own.tenant_id = old.tenant_id and own.session_id = old.session_id`;
  return [
    // The owner of a table sees all tenants while row-level security is not forced, in this transaction only.
    ...(dialect === "postgres"
      ? sessionTables.map((table) => `alter table ${table} no force row level security`)
      : []),
    `create table next_session (${key}, started_at bigint not null, updated_at bigint not null, agent_id ${id},
      channel text, title text, metadata text not null, is_named integer not null, forked_session ${id},
      forked_entry ${id}, places bigint not null, primary key (tenant_id, user_id, session_id))`,
    `create table next_leaf (${key}, branch ${id} not null, entry_id ${id} not null,
      primary key (tenant_id, user_id, session_id, branch), ${ofSession})`,
    `create table next_entry (${key}, entry_id ${id} not null, place bigint not null, parent_id ${id},
      branch ${id} not null, at bigint not null, body text not null,
      primary key (tenant_id, user_id, session_id, entry_id), ${ofSession})`,
    `insert into next_session select tenant_id, user_id, session_id, started_at, coalesce((select max(at)
      from reeve_entry as entry where entry.tenant_id = old.tenant_id and entry.session_id = old.session_id
      and branch = ''), started_at), null, null, null, '{}', 1, forked_session, forked_entry, places
      from reeve_session as old`,
    `insert into next_leaf select old.tenant_id, user_id, old.session_id, branch, entry_id
      from reeve_leaf as old ${owner}`,
    `insert into next_entry select old.tenant_id, user_id, old.session_id, entry_id, place, parent_id, branch, at,
      body from reeve_entry as old ${owner}`,
    ...sessionTables.toReversed().map((table) => `drop table ${table}`),
    ...sessionTables.map((table) => `alter table ${table.replace("reeve", "next")} rename to ${table}`),
    ...indexesOfSessions.map((index) => `create index ${index}`),
    ...(dialect === "postgres" ? sessionTables.flatMap(createRowPolicy) : []),
  ];
}

const indexesOfSessions = [
  "reeve_session_newest on reeve_session (tenant_id, started_at, session_id, user_id)",
  "reeve_session_named on reeve_session (tenant_id, started_at, session_id, user_id) where is_named = 1",
  "reeve_session_user on reeve_session (tenant_id, user_id, started_at, session_id)",
  "reeve_session_user_named on reeve_session (tenant_id, user_id, started_at, session_id) where is_named = 1",
  "reeve_session_agent on reeve_session (tenant_id, agent_id, started_at, session_id, user_id)",
  "reeve_entry_place on reeve_entry (tenant_id, user_id, session_id, place)",
  "reeve_entry_branch on reeve_entry (tenant_id, user_id, session_id, branch)",
];

/** Manifests by attempt, and their texts. The table of manifests was unused before this migration. */
function stepContent(dialect: Dialect): readonly string[] {
  const id = idType[dialect];
  return [
    "drop table if exists reeve_manifest",
    `create table reeve_manifest (tenant_id ${id} not null, step_id ${id} not null, attempt ${id} not null,
      run_id ${id} not null, tree_id ${id} not null, at bigint not null, lasts integer not null, body text not null,
      primary key (tenant_id, step_id, attempt))`,
    `create table reeve_text (tenant_id ${id} not null, tree_id ${id} not null, hash ${id} not null,
      lasts integer not null, body text not null, primary key (tenant_id, tree_id, hash, lasts))`,
    "create index reeve_manifest_run on reeve_manifest (tenant_id, run_id, at, step_id, attempt)",
    "create index reeve_manifest_tree on reeve_manifest (tenant_id, tree_id)",
    ...(dialect === "postgres" ? ["reeve_manifest", "reeve_text"].flatMap(createRowPolicy) : []),
  ];
}

/**
 * Number 1 first. Only ever added to, and each only adds, so that older workers go on beside newer ones. Numbers 6, 8,
 * 9 and 16 are the exceptions.
 */
const migrations: readonly Migration[] = [
  (dialect) => {
    const tables = Object.entries(tablesOfTheFirst(idType[dialect]));
    return [
      ...tables.map(
        ([name, rest]) => `create table ${name} (tenant_id ${idType[dialect]} not null, ${rest})`,
      ),
      ...indexesOfTheFirst.map((index) => `create index ${index}`),
      ...(dialect === "postgres" ? tables.flatMap(([name]) => createRowPolicy(name)) : []),
    ];
  },
  (dialect) => [
    `create table reeve_worker (
      tenant_id ${idType[dialect]} not null, worker_id ${idType[dialect]} not null, url text not null,
      expires_at bigint not null, primary key (tenant_id, worker_id))`,
    ...(dialect === "postgres" ? createRowPolicy("reeve_worker") : []),
  ],
  (dialect) => {
    const id = idType[dialect];
    return [
      `create table reeve_limit (tenant_id ${id} not null, key ${id} not null, body text not null,
       primary key (tenant_id, key))`,
      ...(dialect === "postgres" ? createRowPolicy("reeve_limit") : []),
    ];
  },
  (dialect) => {
    const id = idType[dialect];
    return [
      `create table reeve_api_key (tenant_id ${id} not null, api_key_id ${id} not null, owner ${id} not null,
       body text not null, primary key (tenant_id, api_key_id))`,
      "create index reeve_api_key_owner on reeve_api_key (tenant_id, owner, api_key_id)",
      ...(dialect === "postgres" ? createRowPolicy("reeve_api_key") : []),
    ];
  },
  () => [
    "alter table reeve_run add column in_doubt bigint not null default 0",
    "alter table reeve_run add column reserved bigint not null default 0",
  ],
  userInSessionKey,
  (dialect) => [
    `alter table reeve_api_key add column user_id ${idType[dialect]} not null default ''`,
    "create index reeve_api_key_user on reeve_api_key (tenant_id, owner, user_id)",
  ],
  stepContent,
  (dialect) => [
    ...memoryMigration(dialect, idType[dialect]),
    ...(dialect === "postgres" ? memoryTables.flatMap(createRowPolicy) : []),
  ],
  (dialect) => [
    ...webhookMigration(idType[dialect]),
    ...(dialect === "postgres" ? ["reeve_webhook", "reeve_webhook_delivery"].flatMap(createRowPolicy) : []),
  ],
  (dialect) => [
    ...cacheMigration(idType[dialect]),
    ...(dialect === "postgres" ? createRowPolicy("reeve_cache") : []),
  ],
  () => [
    ...["max_cost bigint", "name text", "agents bigint", "live_agents bigint"].map(
      (column) => `alter table reeve_run add column ${column}`,
    ),
    "create index reeve_run_agent_status on reeve_run (tenant_id, agent_type, status, started_at, run_id)",
    "create index reeve_run_stop on reeve_run (tenant_id, stop_reason, started_at, run_id)",
    `create index reeve_run_root_status on reeve_run (tenant_id, status, started_at, run_id)
     where parent_run_id is null`,
  ],
  (dialect) => [
    // Beginnings of names are found byte by byte.
    ...(dialect === "postgres" ? [`alter table reeve_run alter column name type ${idType.postgres}`] : []),
    ...spendMigration(idType[dialect]),
    ...(dialect === "postgres" ? spendTables.flatMap(createRowPolicy) : []),
  ],
  (dialect) => [
    ...recordsMigration(dialect, idType[dialect]),
    ...(dialect === "postgres" ? createRowPolicy("reeve_audit_check") : []),
  ],
  (dialect) => [
    ...spendSumMigration(dialect, idType[dialect]),
    ...(dialect === "postgres" ? createRowPolicy("reeve_spend_sum") : []),
  ],
  // Workers with earlier migrations cannot use these tables any more.
  () =>
    ["reeve_manifest", "reeve_text", "reeve_cache"].map(
      (table) => `alter table ${table} rename column lasts to is_permanent`,
    ),
  () => ["alter table reeve_worker add column lag_ms bigint not null default 0"],
  () => ["alter table reeve_worker add column failed_writes bigint not null default 0"],
  () => ["alter table reeve_worker add column reduced_trees bigint not null default 0"],
  () => ["alter table reeve_key add column erased integer not null default 0"],
  () => [
    "create index reeve_webhook_delivery_next on reeve_webhook_delivery (tenant_id, owner, webhook_id, status, next_at)",
    "create index reeve_webhook_delivery_leased on reeve_webhook_delivery (tenant_id, leased_until)",
    "drop index reeve_webhook_delivery_due",
  ],
];

/** Restricts rows to the tenant named by the transaction, even for the owner of the table. */
function createRowPolicy(table: string): readonly string[] {
  const own = "tenant_id = current_setting('reeve.tenant', true)";
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `create policy ${table}_tenant on ${table} using (${own}) with check (${own})`,
  ];
}

/**
 * Runs the pending migrations. The caller must ensure that no other process does so concurrently. @throws Error if a
 * newer release has migrated the store: its tables may differ in ways that this release cannot know.
 */
export async function migrate(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  await sql`create table if not exists reeve_migration (number integer primary key)`.execute(db);
  const { rows } = await sql<{ number: number }>`select number from reeve_migration`.execute(db);
  const done = new Set(rows.map(({ number }) => number));
  const newest = Math.max(0, ...done);
  if (newest > migrations.length)
    throw new Error(
      `the store was migrated by a newer release of reeve: its schema has number ${newest}, this release knows numbers ` +
        `up to ${migrations.length}. Install the newer release, or restore a backup from before the migration`,
    );
  for (const [index, migration] of migrations.entries()) {
    if (done.has(index + 1)) continue;
    for (const statement of migration(dialect)) await sql.raw(statement).execute(db);
    await sql`insert into reeve_migration (number) values (${index + 1})`.execute(db);
  }
}
