/** Tables of memory: facts with their writer and labels, blocks, the index of terms, vectors, and notes of writes. */
export function memoryMigration(dialect: "sqlite" | "postgres", id: string): readonly string[] {
  const own = `tenant_id ${id} not null, owner ${id} not null`;
  // A search reads only the key and these two columns, so it need not touch the rows.
  const covering = dialect === "sqlite" ? ") without rowid" : " include (kind, at))";
  return [
    ...(dialect === "postgres" ? ["alter table reeve_fact no force row level security"] : []),
    `create table reeve_memory_fact (${own}, key ${id} not null, valid_from bigint not null, valid_to bigint,
      fact_id ${id} not null, recorded_at bigint not null, body text not null,
      primary key (tenant_id, owner, key, valid_from), unique (tenant_id, owner, fact_id))`,
    `create table reeve_memory_block (${own}, name ${id} not null, version bigint not null,
      updated_at bigint not null, body text not null, primary key (tenant_id, owner, name))`,
    `create table reeve_memory_term (${own}, term ${id} not null, item ${id} not null, kind ${id} not null,
      at bigint not null, primary key (tenant_id, owner, term, item)${covering}`,
    `create table reeve_memory_vector (${own}, item ${id} not null, embedder ${id} not null, kind ${id} not null,
      at bigint not null, vector text not null, primary key (tenant_id, owner, item, embedder))`,
    `create table reeve_memory_write (${own}, write_id ${id} not null, body text not null,
      primary key (tenant_id, owner, write_id))`,
    "create index reeve_memory_term_item on reeve_memory_term (tenant_id, owner, item)",
    `insert into reeve_memory_fact (tenant_id, owner, key, valid_from, valid_to, fact_id, recorded_at, body)
      select tenant_id, 'u ' || user_id, key, valid_from, valid_to,
      'fact-' || row_number() over (partition by tenant_id, user_id order by key, valid_from), valid_from,
      '{"value":' || value || '}' from reeve_fact`,
    "drop table reeve_fact",
  ];
}
