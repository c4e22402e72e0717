import type { Kysely, Selectable } from "kysely";
import {
  isJsonObject,
  Json,
  Page,
  TenantId,
  toLine,
  TreeId,
  WebhookDelivery,
  type ClaimedDelivery,
  type ClaimRequest,
  type NewWebhookDelivery,
  type PageRequest,
  type Partition,
  type WebhookRecord,
  type WebhookStore,
} from "#kernel";
import { batches, type Access } from "./access.ts";
import { type DeliveryRow, findDue } from "./due-deliveries.ts";
import { isBehindCursor } from "./newest-first.ts";
import type { Tables } from "./tables.ts";

/** A sender reads the deliveries of all tenants at once, so all are in the partition without a tenant. */
const shared: Partition = { tenantId: null };

const toOwnerColumn = ({ tenantId }: Partition): string => tenantId ?? "";

export class SqlWebhooks implements WebhookStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, { id, ...rest }: WebhookRecord): Promise<boolean> {
    const body = JSON.stringify(rest);
    return this.#access.write(partition, async (db, tenant) => {
      const own = { tenant_id: tenant, webhook_id: id };
      const present = await db
        .selectFrom("reeve_webhook")
        .select(["webhook_id", "body"])
        .where((eb) => eb.and(own))
        .executeTakeFirst();
      if (rest.revision !== (present ? toWebhookRecord(present).revision : 0) + 1) return false;
      // Another transaction may have written since: then no row is as it was read.
      const written = present
        ? await db
            .updateTable("reeve_webhook")
            .set({ body })
            .where((eb) => eb.and({ ...own, body: present.body }))
            .returning("webhook_id")
            .execute()
        : await db
            .insertInto("reeve_webhook")
            .values({ ...own, body })
            .onConflict((conflict) => conflict.doNothing())
            .returning("webhook_id")
            .execute();
      return written.length > 0;
    });
  }

  async get(partition: Partition, id: string): Promise<WebhookRecord | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_webhook")
        .select(["webhook_id", "body"])
        .where((eb) => eb.and({ tenant_id: tenant, webhook_id: id }))
        .executeTakeFirst(),
    );
    return row ? toWebhookRecord(row) : null;
  }

  async list(partition: Partition): Promise<readonly WebhookRecord[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_webhook")
        .select(["webhook_id", "body"])
        .where("tenant_id", "=", tenant)
        .orderBy("webhook_id")
        .execute(),
    );
    return rows.map(toWebhookRecord);
  }

  async remove(partition: Partition, id: string): Promise<boolean> {
    const removed = await this.#access.write(partition, (db, tenant) =>
      db
        .deleteFrom("reeve_webhook")
        .where((eb) => eb.and({ tenant_id: tenant, webhook_id: id }))
        .returning("webhook_id")
        .execute(),
    );
    await this.#access.write(shared, (db, tenant) =>
      db
        .deleteFrom("reeve_webhook_delivery")
        .where((eb) => eb.and({ tenant_id: tenant, owner: toOwnerColumn(partition), webhook_id: id }))
        .execute(),
    );
    return removed.length > 0;
  }

  async enqueue(partition: Partition, deliveries: readonly NewWebhookDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await this.#access.write(shared, async (db, tenant) => {
      for (const batch of batches(deliveries))
        await db
          .insertInto("reeve_webhook_delivery")
          .values(
            batch.map((delivery) => newRow(delivery, { tenant_id: tenant, owner: toOwnerColumn(partition) })),
          )
          .onConflict((conflict) => conflict.doNothing())
          .execute();
    });
  }

  async deliveries(
    partition: Partition,
    { webhookId, status }: { readonly webhookId: string; readonly status?: WebhookDelivery["status"] },
    request: PageRequest,
  ): Promise<Page<WebhookDelivery>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(shared, (db, tenant) =>
      db
        .selectFrom("reeve_webhook_delivery")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, owner: toOwnerColumn(partition), webhook_id: webhookId }))
        .where((eb) => isBehindCursor(eb, { at: "at", id: "delivery_id", place: after }))
        .$if(status !== undefined, (query) => query.where("status", "=", status ?? ""))
        .orderBy("at", "desc")
        .orderBy("delivery_id", "desc")
        .limit(size + 1)
        .execute(),
    );
    return Page.of(rows.map(deliveryOf), size, ({ at, id }) => [at, id]);
  }

  async count(
    partition: Partition,
    webhookId: string,
  ): Promise<{ readonly pending: number; readonly dead: number }> {
    const rows = await this.#access.read(shared, (db, tenant) =>
      db
        .selectFrom("reeve_webhook_delivery")
        .select((eb) => ["status", eb.fn.countAll().as("number")])
        .where((eb) => eb.and({ tenant_id: tenant, owner: toOwnerColumn(partition), webhook_id: webhookId }))
        .groupBy("status")
        .execute(),
    );
    const numberOf = (status: string): number =>
      Number(rows.find((row) => row.status === status)?.number ?? 0);
    return { pending: numberOf("pending"), dead: numberOf("dead") };
  }

  async redeliver(
    partition: Partition,
    {
      webhookId,
      id,
      at,
    }: { readonly webhookId: string; readonly id?: string | undefined; readonly at: number },
  ): Promise<number> {
    const changed = await this.#access.write(shared, (db, tenant) =>
      db
        .updateTable("reeve_webhook_delivery")
        .set({ status: "pending", attempts: 0, next_at: at, lease: "", leased_until: 0 })
        .where((eb) =>
          eb.and({
            tenant_id: tenant,
            owner: toOwnerColumn(partition),
            webhook_id: webhookId,
            status: "dead",
          }),
        )
        .$if(id !== undefined, (query) => query.where("delivery_id", "=", id ?? ""))
        .returning("delivery_id")
        .execute(),
    );
    return changed.length;
  }

  async claim({ lease, now, until, ...shares }: ClaimRequest): Promise<readonly ClaimedDelivery[]> {
    const found = await this.#access.read(shared, (db, tenant) => findDue(db, tenant, { now, ...shares }));
    const claimed: ClaimedDelivery[] = [];
    // Leased one by one, and only if still free and due: two senders that found the same row cannot both lease it, and what
    // another has just tried in vain waits for its next try.
    for (const row of found) {
      const [taken] = await this.#access.write(shared, (db) =>
        db
          .updateTable("reeve_webhook_delivery")
          .set({ lease, leased_until: until })
          .where((eb) => eb.and({ ...toRowKey(row), status: "pending" }))
          .where((eb) =>
            eb.or([
              eb("lease", "=", lease),
              eb.and([eb("leased_until", "<=", now), eb("next_at", "<=", now)]),
            ]),
          )
          .returningAll()
          .execute(),
      );
      if (taken) claimed.push({ ...deliveryOf(taken), partition: partitionOf(taken.owner), lease });
    }
    return claimed;
  }

  async settle(claimed: ClaimedDelivery, outcome: Parameters<WebhookStore["settle"]>[1]): Promise<void> {
    const { partition, webhookId, id, lease, attempts } = claimed;
    await this.#access.write(shared, async (db, tenant) => {
      const own = {
        tenant_id: tenant,
        owner: toOwnerColumn(partition),
        webhook_id: webhookId,
        delivery_id: id,
        lease,
      };
      if (outcome.kind === "delivered") {
        await db
          .deleteFrom("reeve_webhook_delivery")
          .where((eb) => eb.and(own))
          .execute();
        return;
      }
      const end = outcome.kind === "dead" ? { status: "dead" } : { next_at: outcome.nextAt };
      await db
        .updateTable("reeve_webhook_delivery")
        .set({ attempts: attempts + 1, error: toLine(outcome.error), lease: "", leased_until: 0, ...end })
        .where((eb) => eb.and(own))
        .execute();
      if (outcome.kind === "dead") await dropDead(db, own, outcome.keep);
    });
  }

  /** Removes the deliveries of a tree that is erased. */
  async dropTree(partition: Partition, tree: TreeId): Promise<void> {
    await this.#access.write(shared, (db, tenant) =>
      db
        .deleteFrom("reeve_webhook_delivery")
        .where((eb) => eb.and({ tenant_id: tenant, owner: toOwnerColumn(partition), tree_id: tree }))
        .execute(),
    );
  }
}

/** Removes the oldest dead deliveries of a webhook. */
async function dropDead(
  db: Kysely<Tables>,
  { tenant_id, owner, webhook_id }: Pick<DeliveryRow, "tenant_id" | "owner" | "webhook_id">,
  keep: number,
): Promise<void> {
  const dead = { tenant_id, owner, webhook_id, status: "dead" };
  const first = await db
    .selectFrom("reeve_webhook_delivery")
    .select(["at", "delivery_id"])
    .where((eb) => eb.and(dead))
    .orderBy("at", "desc")
    .orderBy("delivery_id", "desc")
    .offset(keep)
    .limit(1)
    .executeTakeFirst();
  if (!first) return;
  await db
    .deleteFrom("reeve_webhook_delivery")
    .where((eb) => eb.and(dead))
    .where((eb) =>
      eb.or([
        eb("at", "<", first.at),
        eb.and([eb("at", "=", first.at), eb("delivery_id", "<=", first.delivery_id)]),
      ]),
    )
    .execute();
}

const toRowKey = ({ tenant_id, owner, webhook_id, delivery_id }: DeliveryRow) => ({
  tenant_id,
  owner,
  webhook_id,
  delivery_id,
});

const partitionOf = (owner: string): Partition => ({ tenantId: owner === "" ? null : TenantId.of(owner) });

function newRow(delivery: NewWebhookDelivery, owner: Pick<DeliveryRow, "tenant_id" | "owner">): DeliveryRow {
  const { webhookId, treeId, seq, event, at } = delivery;
  return {
    ...owner,
    webhook_id: webhookId,
    delivery_id: WebhookDelivery.id(delivery),
    tree_id: treeId,
    seq,
    event,
    at,
    status: "pending",
    attempts: 0,
    next_at: at,
    error: null,
    lease: "",
    leased_until: 0,
  };
}

function deliveryOf(row: DeliveryRow): WebhookDelivery {
  const {
    webhook_id: webhookId,
    delivery_id: id,
    tree_id,
    seq,
    event,
    at,
    status,
    attempts,
    next_at,
    error,
  } = row;
  const rest = { seq, event, at, status, attempts, nextAt: next_at, error };
  return Json.as({ id, webhookId, treeId: TreeId.of(tree_id), ...rest });
}

function toWebhookRecord({
  webhook_id: id,
  body,
}: Pick<Selectable<Tables["reeve_webhook"]>, "webhook_id" | "body">): WebhookRecord {
  const kept: unknown = JSON.parse(body);
  return Json.as({ ...(isJsonObject(kept) ? kept : {}), id });
}
