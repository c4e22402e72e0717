export const spendTables = ["reeve_spend", "reeve_spend_tree", "reeve_spend_call"] as const;

const figures = ["calls", "input", "output", "cached", "settled", "in_doubt", "runs", "stopped", "denied"];

/** The tables of the roll-up of money, and the indexes of runs that lists of the dashboard need. */
export const spendMigration = (id: string): readonly string[] => [
  `create table reeve_spend (tenant_id ${id} not null, hour bigint not null, tree_id ${id} not null,
    user_id ${id} not null, agent_type ${id} not null, model ${id} not null,
    ${figures.map((name) => `${name} bigint not null`).join(", ")},
    primary key (tenant_id, hour, tree_id, user_id, agent_type, model))`,
  `create table reeve_spend_tree (tenant_id ${id} not null, tree_id ${id} not null, user_id ${id} not null,
    seq bigint not null, rolled_seq bigint not null, last_hour bigint not null, unsettled bigint not null,
    primary key (tenant_id, tree_id))`,
  `create table reeve_spend_call (tenant_id ${id} not null, tree_id ${id} not null, attempt ${id} not null,
    user_id ${id} not null, run_id ${id} not null, step_id ${id}, agent_type ${id} not null, model ${id} not null,
    at bigint not null, tokens bigint not null, cost bigint not null, state ${id} not null,
    primary key (tenant_id, tree_id, attempt))`,
  "create index reeve_spend_by_tree on reeve_spend (tenant_id, tree_id)",
  "create index reeve_spend_user on reeve_spend (tenant_id, user_id, hour)",
  "create index reeve_spend_tree_user on reeve_spend_tree (tenant_id, user_id)",
  `create index reeve_spend_tree_quiet on reeve_spend_tree (tenant_id, last_hour)
    where unsettled = 0 and rolled_seq < seq`,
  "create index reeve_spend_call_doubt on reeve_spend_call (tenant_id, at, attempt) where state = 'in-doubt'",
  `create index reeve_spend_call_user on reeve_spend_call (tenant_id, user_id, at, attempt)
    where state = 'in-doubt'`,
  "create index reeve_run_root_agent on reeve_run (tenant_id, agent_type, started_at, run_id) where parent_run_id is null",
  `create index reeve_run_root_agent_status on reeve_run (tenant_id, agent_type, status, started_at, run_id)
    where parent_run_id is null`,
  "create index reeve_run_root_stop on reeve_run (tenant_id, stop_reason, started_at, run_id) where parent_run_id is null",
  "create index reeve_run_root_id on reeve_run (tenant_id, run_id) where parent_run_id is null",
  "create index reeve_run_name on reeve_run (tenant_id, name, run_id) where name is not null",
  "create index reeve_run_dearest on reeve_run (tenant_id, spend, run_id) where parent_run_id is null",
];

/** The table of sums, filled from the rows of trees. */
export const spendSumMigration = (dialect: "sqlite" | "postgres", id: string): readonly string[] => {
  const names = figures.join(", ");
  const sums = figures.map((name) => `cast(sum(${name}) as bigint)`).join(", ");
  const kinds = [
    ["hour", "hour, '', agent_type, model", "hour, agent_type, model"],
    ["day", "hour - hour % 24, '', agent_type, model", "hour - hour % 24, agent_type, model"],
    ["user", "hour - hour % 24, user_id, '', ''", "hour - hour % 24, user_id"],
  ] as const;
  // The owner of a table sees all tenants while row-level security is not forced, in this transaction only.
  const force = (text: string): readonly string[] =>
    dialect === "postgres" ? [`alter table reeve_spend ${text} row level security`] : [];
  return [
    ...force("no force"),
    `create table reeve_spend_sum (tenant_id ${id} not null, kind ${id} not null, hour bigint not null,
      user_id ${id} not null, agent_type ${id} not null, model ${id} not null,
      ${figures.map((name) => `${name} bigint not null`).join(", ")},
      primary key (tenant_id, kind, hour, user_id, agent_type, model))`,
    ...kinds.map(
      ([
        kind,
        key,
        groups,
      ]) => `insert into reeve_spend_sum (tenant_id, kind, hour, user_id, agent_type, model, ${names})
        select tenant_id, '${kind}', ${key}, ${sums} from reeve_spend group by tenant_id, ${groups}`,
    ),
    ...force("force"),
  ];
};
