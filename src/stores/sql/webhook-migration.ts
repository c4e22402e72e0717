/** Tables of webhooks and of the events that are on their way to them. */
export const webhookMigration = (id: string): readonly string[] => [
  `create table reeve_webhook (tenant_id ${id} not null, webhook_id ${id} not null, body text not null,
    primary key (tenant_id, webhook_id))`,
  `create table reeve_webhook_delivery (tenant_id ${id} not null, owner ${id} not null, webhook_id ${id} not null,
    delivery_id ${id} not null, tree_id ${id} not null, seq bigint not null, event ${id} not null, at bigint not null,
    status ${id} not null, attempts bigint not null, next_at bigint not null, error text, lease ${id} not null,
    leased_until bigint not null, primary key (tenant_id, owner, webhook_id, delivery_id))`,
  "create index reeve_webhook_delivery_due on reeve_webhook_delivery (tenant_id, status, next_at)",
  "create index reeve_webhook_delivery_tree on reeve_webhook_delivery (tenant_id, owner, webhook_id, tree_id, seq)",
];
