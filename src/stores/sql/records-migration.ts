/** The text before the first colon of the agent's id, from the body of a question. */
const agentType = {
  sqlite: `substr(json_extract(body, '$.agentId'), 1, instr(json_extract(body, '$.agentId') || ':', ':') - 1)`,
  postgres: `split_part(body::json->>'agentId', ':', 1)`,
} as const;

const fieldOf = {
  sqlite: (name: string): string => `json_extract(body, '$.${name}')`,
  postgres: (name: string): string => `body::json->>'${name}'`,
} as const;

const filters = ["agent_type", "tool", "risk"] as const;

/** Indexes for lists of the audit and of questions, and the last check of each audit chain. */
export function recordsMigration(dialect: "sqlite" | "postgres", id: string): readonly string[] {
  const field = fieldOf[dialect];
  const fill = `update reeve_approval set agent_type = ${agentType[dialect]}, tool = ${field("tool")},
    risk = ${field("risk")}`;
  return [
    `create table reeve_audit_check (tenant_id ${id} not null, at bigint not null, body text not null,
      key_id text not null, hash text not null, primary key (tenant_id))`,
    "create index reeve_audit_kind on reeve_audit (tenant_id, kind, link)",
    ...filters.map((name) => `alter table reeve_approval add column ${name} ${id}`),
    // The owner of a table sees all tenants while row-level security is not forced, in this transaction only.
    ...(dialect === "postgres"
      ? [
          "alter table reeve_approval no force row level security",
          fill,
          "alter table reeve_approval force row level security",
        ]
      : [fill]),
    ...filters.map(
      (name) =>
        `create index reeve_approval_${name} on reeve_approval (tenant_id, ${name}, requested_at, approval_id)`,
    ),
  ];
}
