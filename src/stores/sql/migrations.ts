import { type Kysely, sql } from "kysely";
import type { Tables } from "./tables.ts";

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

/** Number 1 first. Only ever added to, and each only adds: older workers go on beside newer ones. */
const migrations: readonly Migration[] = [
  (dialect) => {
    const tables = Object.entries(tablesOfTheFirst(idType[dialect]));
    return [
      ...tables.map(
        ([name, rest]) => `create table ${name} (tenant_id ${idType[dialect]} not null, ${rest})`,
      ),
      ...indexesOfTheFirst.map((index) => `create index ${index}`),
      ...(dialect === "postgres" ? tables.flatMap(([name]) => guarded(name)) : []),
    ];
  },
  (dialect) => [
    `create table reeve_worker (
      tenant_id ${idType[dialect]} not null, worker_id ${idType[dialect]} not null, url text not null,
      expires_at bigint not null, primary key (tenant_id, worker_id))`,
    ...(dialect === "postgres" ? guarded("reeve_worker") : []),
  ],
  (dialect) => {
    const id = idType[dialect];
    return [
      `create table reeve_limit (tenant_id ${id} not null, key ${id} not null, body text not null,
       primary key (tenant_id, key))`,
      ...(dialect === "postgres" ? guarded("reeve_limit") : []),
    ];
  },
  (dialect) => {
    const id = idType[dialect];
    return [
      `create table reeve_api_key (tenant_id ${id} not null, api_key_id ${id} not null, owner ${id} not null,
       body text not null, primary key (tenant_id, api_key_id))`,
      "create index reeve_api_key_owner on reeve_api_key (tenant_id, owner, api_key_id)",
      ...(dialect === "postgres" ? guarded("reeve_api_key") : []),
    ];
  },
];

/** Rows of the tenant that the transaction has named, and of nobody else: also for the owner of the table. */
function guarded(table: string): readonly string[] {
  const own = "tenant_id = current_setting('reeve.tenant', true)";
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `create policy ${table}_tenant on ${table} using (${own}) with check (${own})`,
  ];
}

/** Brings the tables up to date. The caller sees to it that nobody else does so meanwhile. */
export async function migrate(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  await sql`create table if not exists reeve_migration (number integer primary key)`.execute(db);
  const { rows } = await sql<{ number: number }>`select number from reeve_migration`.execute(db);
  const done = new Set(rows.map(({ number }) => number));
  for (const [index, migration] of migrations.entries()) {
    if (done.has(index + 1)) continue;
    for (const statement of migration(dialect)) await sql.raw(statement).execute(db);
    await sql`insert into reeve_migration (number) values (${index + 1})`.execute(db);
  }
}
