import { expect } from "vitest";
import { EntryId, MemoryOwner, SessionId, type Store, TenantId, UserId } from "#kernel";

const tables = ["session", "leaf", "entry", "api_key", "fact", "approval", "key", "worker"].map(
  (name) => `reeve_${name}`,
);

/** A database from before sessions were keyed by user and API keys had one: only the changed tables. */
export const oldSessions = (dialect: "sqlite" | "postgres"): readonly string[] => {
  const id = dialect === "postgres" ? 'text collate "C" not null' : "text not null";
  const ofSession = "foreign key (tenant_id, session_id) references reeve_session on delete cascade";
  const policy = "tenant_id = current_setting('reeve.tenant', true)";
  const rows = ["acme", "other"].map(
    (tenant) => `
      insert into reeve_session values ('${tenant}', 'talk', 'ann', 1, null, null, 2), ('${tenant}', 'b', '', 2, null, null, 0);
      insert into reeve_entry values ('${tenant}', 'talk', 'a', 0, null, '', 5, '{"type":"custom","kind":"note","data":"${tenant}"}'),
        ('${tenant}', 'talk', 'h', 1, 'a', 't~1', 6, '{"type":"custom","kind":"note","data":2}');
      insert into reeve_fact values ('${tenant}', 'ann', 'city', 1, null, '"${tenant}"'),
        ('${tenant}', 'ann', 'city', 2, 9, '{"a":1}'), ('${tenant}', '', 'city', 2, null, '3');
      insert into reeve_approval values ('${tenant}', 'q1', 'books', 1,
        '{"id":"q1","treeId":"books","agentId":"writer:north","tool":"send","risk":"high","requestedAt":1}', null),
        ('${tenant}', 'q2', 'books', 2,
        '{"id":"q2","treeId":"books","agentId":"lead","tool":"send_email","risk":"critical","requestedAt":2}', null);
      insert into reeve_leaf values ('${tenant}', 'talk', '', 'a'), ('${tenant}', 'talk', 't~1', 'h')`,
  );
  return [
    "create table reeve_migration (number integer primary key)",
    "insert into reeve_migration values (1), (2), (3), (4), (5)",
    `create table reeve_worker (tenant_id ${id}, worker_id ${id}, url text not null, expires_at bigint not null,
      primary key (tenant_id, worker_id))`,
    `create table reeve_session (tenant_id ${id}, session_id ${id}, user_id ${id}, started_at bigint not null,
      forked_session text, forked_entry text, places bigint not null, primary key (tenant_id, session_id))`,
    `create table reeve_leaf (tenant_id ${id}, session_id ${id}, branch ${id}, entry_id ${id},
      primary key (tenant_id, session_id, branch), ${ofSession})`,
    `create table reeve_entry (tenant_id ${id}, session_id ${id}, entry_id ${id}, place bigint not null,
      parent_id text, branch ${id}, at bigint not null, body text not null,
      primary key (tenant_id, session_id, entry_id), ${ofSession})`,
    `create table reeve_run (tenant_id ${id}, run_id ${id}, parent_run_id ${id}, agent_type ${id}, status ${id},
      stop_reason ${id}, started_at bigint not null, spend bigint not null, primary key (tenant_id, run_id))`,
    `create table reeve_api_key (tenant_id ${id}, api_key_id ${id}, owner ${id}, body text not null,
      primary key (tenant_id, api_key_id))`,
    `create table reeve_approval (tenant_id ${id}, approval_id ${id}, tree_id ${id}, requested_at bigint not null,
      body text not null, decision text, primary key (tenant_id, approval_id))`,
    `create table reeve_key (tenant_id ${id}, tree_id ${id}, key_id text not null, wrapped text,
      primary key (tenant_id, tree_id))`,
    `create table reeve_audit (tenant_id ${id}, link bigint not null, kind text not null,
      primary key (tenant_id, link))`,
    `create table reeve_fact (tenant_id ${id}, user_id ${id}, key ${id}, valid_from bigint not null,
      valid_to bigint, value text not null, primary key (tenant_id, user_id, key, valid_from))`,
    `insert into reeve_api_key values ('-', 'k', 'acme', '{"hash":"h","scopes":["read"],"expiresAt":1}')`,
    "create index reeve_session_newest on reeve_session (tenant_id, started_at, session_id)",
    "create index reeve_entry_place on reeve_entry (tenant_id, session_id, place)",
    ...rows,
    ...(dialect === "sqlite"
      ? []
      : tables.flatMap((table) => [
          `alter table ${table} enable row level security`,
          `alter table ${table} force row level security`,
          `create policy ${table}_tenant on ${table} using (${policy}) with check (${policy})`,
        ])),
  ];
};

/** Every row is where it was, and belongs to its session's user. */
export async function expectKept({ sessions, apiKeys, memory, approvals }: Store): Promise<void> {
  const kept = { id: "k", hash: "h", tenant: "acme", user: null, scopes: ["read"], expiresAt: 1 };
  expect(await apiKeys.find("k")).toEqual(kept);
  const key = { id: SessionId.of("talk"), userId: UserId.of("ann") };
  for (const tenant of ["acme", "other"]) {
    const partition = { tenantId: TenantId.of(tenant) };
    for (const filter of [{ agentType: "writer" }, { tool: "send" }, { risk: "high" as const }]) {
      const { items } = await approvals.list(partition, filter, { size: 9 });
      expect(items.map(({ id }) => id)).toEqual(["q1"]);
    }
    const told = { recordedAt: 1, runId: null, labels: { untrusted: false, private: false } };
    expect(await memory.recall(partition, MemoryOwner.user(key.userId), {})).toEqual([
      { ...told, id: "fact-1", key: "city", value: tenant, validFrom: 1, validTo: 2 },
      { ...told, id: "fact-2", key: "city", value: { a: 1 }, validFrom: 2, validTo: 9, recordedAt: 2 },
    ]);
    expect(await memory.recall(partition, MemoryOwner.user(null), {})).toMatchObject([{ value: 3 }]);
    const { items } = await sessions.list(partition, {}, { size: 9 });
    const defaults = {
      agentId: null,
      channel: null,
      title: null,
      metadata: {},
      isNamed: true,
      forkedFrom: null,
    };
    expect(items).toEqual([
      { id: "b", userId: null, startedAt: 2, updatedAt: 2, leaf: null, ...defaults },
      { ...key, startedAt: 1, updatedAt: 5, leaf: "a", ...defaults },
    ]);
    const entries = await sessions.entries(partition, key, { after: null, limit: 9 });
    expect(entries).toMatchObject([
      { id: "a", data: tenant },
      { id: "h", branch: "t~1" },
    ]);
    const entry = { id: EntryId.of("c"), parentId: EntryId.of("a"), at: 9, branch: null } as const;
    await sessions.append(partition, key, [{ ...entry, type: "custom", kind: "note", data: 3 }]);
    expect(await sessions.leaf(partition, key, null)).toBe("c");
    await sessions.remove(partition, key);
    expect(await sessions.entries(partition, key, { after: null, limit: 9 })).toEqual([]);
  }
}
