/** The table of cached answers. */
export const cacheMigration = (id: string): readonly string[] => [
  `create table reeve_cache (tenant_id ${id} not null, key ${id} not null, user_id ${id} not null,
    tree_id ${id} not null, lasts integer not null, at bigint not null, expires_at bigint not null,
    size bigint not null, body text not null, primary key (tenant_id, key))`,
  "create index reeve_cache_newest on reeve_cache (tenant_id, at, key, size)",
  "create index reeve_cache_expired on reeve_cache (tenant_id, expires_at)",
  "create index reeve_cache_user on reeve_cache (tenant_id, user_id)",
  "create index reeve_cache_tree on reeve_cache (tenant_id, tree_id)",
];
