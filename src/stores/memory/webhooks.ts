import {
  Partition,
  WebhookDelivery,
  type ClaimedDelivery,
  type ClaimRequest,
  type NewWebhookDelivery,
  type Page,
  type PageRequest,
  type TreeId,
  type WebhookRecord,
  type WebhookStore,
} from "#kernel";
import { copy, toPage, TenantMap } from "./tenant-map.ts";

interface StoredDelivery {
  readonly partition: Partition;
  readonly delivery: WebhookDelivery;
  readonly lease: string;
  readonly leasedUntil: number;
}

type StoredEntry = readonly [key: string, stored: StoredDelivery];

export class MemoryWebhooks implements WebhookStore {
  readonly #webhooks = new TenantMap<WebhookRecord>();
  readonly #deliveries = new Map<string, StoredDelivery>();

  async put(partition: Partition, webhook: WebhookRecord): Promise<boolean> {
    const webhooks = this.#webhooks.getItems(partition);
    const { revision = 0 } = webhooks.get(webhook.id) ?? {};
    if (webhook.revision !== revision + 1) return false;
    webhooks.set(webhook.id, copy(webhook));
    return true;
  }

  async get(partition: Partition, id: string): Promise<WebhookRecord | null> {
    const found = this.#webhooks.getItems(partition).get(id);
    return found ? copy(found) : null;
  }

  async list(partition: Partition): Promise<readonly WebhookRecord[]> {
    const found = [...this.#webhooks.getItems(partition).values()];
    return found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(copy);
  }

  async remove(partition: Partition, id: string): Promise<boolean> {
    for (const [key] of this.#listDeliveries(partition, id)) this.#deliveries.delete(key);
    return this.#webhooks.getItems(partition).delete(id);
  }

  async enqueue(partition: Partition, deliveries: readonly NewWebhookDelivery[]): Promise<void> {
    for (const given of deliveries) {
      const id = WebhookDelivery.id(given);
      const key = toDeliveryKey(partition, given.webhookId, id);
      if (this.#deliveries.has(key)) continue;
      const fresh = { status: "pending", attempts: 0, nextAt: given.at, error: null } as const;
      this.#deliveries.set(key, {
        partition,
        delivery: { ...given, id, ...fresh },
        lease: "",
        leasedUntil: 0,
      });
    }
  }

  async deliveries(
    partition: Partition,
    { webhookId, status }: { readonly webhookId: string; readonly status?: WebhookDelivery["status"] },
    page: PageRequest,
  ): Promise<Page<WebhookDelivery>> {
    const all = this.#listDeliveries(partition, webhookId).map(([, { delivery }]) => delivery);
    const found = all.filter((delivery) => status === undefined || delivery.status === status);
    return toPage(found.map(copy), page, ({ at, id }) => [at, id]);
  }

  async count(
    partition: Partition,
    webhookId: string,
  ): Promise<{ readonly pending: number; readonly dead: number }> {
    const all = this.#listDeliveries(partition, webhookId);
    const dead = all.filter(([, { delivery }]) => delivery.status === "dead").length;
    return { pending: all.length - dead, dead };
  }

  async redeliver(
    partition: Partition,
    {
      webhookId,
      id,
      at,
    }: { readonly webhookId: string; readonly id?: string | undefined; readonly at: number },
  ): Promise<number> {
    const dead = this.#listDeliveries(partition, webhookId).filter(
      ([, { delivery }]) => delivery.status === "dead" && (id === undefined || delivery.id === id),
    );
    for (const [key, kept] of dead) {
      const delivery = { ...kept.delivery, status: "pending", attempts: 0, nextAt: at } as const;
      this.#deliveries.set(key, { ...kept, delivery, leasedUntil: 0 });
    }
    return dead.length;
  }

  async claim({ lease, now, until, ...shares }: ClaimRequest): Promise<readonly ClaimedDelivery[]> {
    const claimed: ClaimedDelivery[] = [];
    for (const [key, kept] of this.#findDue({ now, ...shares })) {
      this.#deliveries.set(key, { ...kept, lease, leasedUntil: until });
      claimed.push({ ...copy(kept.delivery), partition: kept.partition, lease });
    }
    return claimed;
  }

  /** Finds the deliveries that a sender may have now, in the order in which they are given out. */
  #findDue({
    now,
    limit,
    perWebhook,
    perTenant,
  }: Omit<ClaimRequest, "lease" | "until">): readonly StoredEntry[] {
    const due = this.#listHeads().filter(([, { delivery }]) => delivery.nextAt <= now);
    const isFree = ([, { leasedUntil }]: StoredEntry): boolean => leasedUntil <= now;
    // Leased ones come first, because they count towards the limits.
    const ranked = due.toSorted(
      (a, b) => Number(isFree(a)) - Number(isFree(b)) || a[1].delivery.nextAt - b[1].delivery.nextAt,
    );
    const ofWebhooks = number(ranked, ([, { partition, delivery }]) =>
      toDeliveryKey(partition, delivery.webhookId, ""),
    ).filter(({ place }) => place <= perWebhook);
    const byPlace = ofWebhooks.toSorted(
      (a, b) => Number(isFree(a.entry)) - Number(isFree(b.entry)) || a.place - b.place,
    );
    const entries = byPlace.map(({ entry }) => entry);
    return number(entries, ([, { partition }]) => Partition.key(partition))
      .filter(({ entry, place }) => place <= perTenant && isFree(entry))
      .toSorted((a, b) => a.place - b.place || a.entry[1].delivery.nextAt - b.entry[1].delivery.nextAt)
      .slice(0, limit)
      .map(({ entry }) => entry);
  }

  /** Returns the first pending delivery of each webhook and tree. */
  #listHeads(): readonly StoredEntry[] {
    const heads = new Map<string, StoredEntry>();
    for (const entry of this.#deliveries) {
      const [, { partition, delivery }] = entry;
      if (delivery.status !== "pending") continue;
      const stream = toDeliveryKey(partition, delivery.webhookId, delivery.treeId);
      const first = heads.get(stream);
      if (!first || delivery.seq < first[1].delivery.seq) heads.set(stream, entry);
    }
    return [...heads.values()];
  }

  async settle(
    { partition, webhookId, id, lease }: ClaimedDelivery,
    outcome: Parameters<WebhookStore["settle"]>[1],
  ): Promise<void> {
    const key = toDeliveryKey(partition, webhookId, id);
    const kept = this.#deliveries.get(key);
    if (kept?.lease !== lease) return;
    if (outcome.kind === "delivered") {
      this.#deliveries.delete(key);
      return;
    }
    const { error } = outcome;
    const attempts = kept.delivery.attempts + 1;
    const change =
      outcome.kind === "retry"
        ? ({ attempts, error, nextAt: outcome.nextAt } as const)
        : ({ attempts, error, status: "dead" } as const);
    this.#deliveries.set(key, {
      ...kept,
      delivery: { ...kept.delivery, ...change },
      lease: "",
      leasedUntil: 0,
    });
    if (outcome.kind === "dead") this.#dropDead(partition, webhookId, outcome.keep);
  }

  /** Removes the oldest dead deliveries of a webhook. */
  #dropDead(partition: Partition, webhookId: string, keep: number): void {
    const dead = this.#listDeliveries(partition, webhookId).filter(
      ([, { delivery }]) => delivery.status === "dead",
    );
    const newestFirst = dead.toSorted(([, a], [, b]) => compareDeliveries(b.delivery, a.delivery));
    for (const [key] of newestFirst.slice(keep)) this.#deliveries.delete(key);
  }

  /** Removes the deliveries of trees that are erased. */
  dropTree(partition: Partition, tree: TreeId): void {
    for (const [key, { delivery, partition: owner }] of this.#deliveries)
      if (owner.tenantId === partition.tenantId && delivery.treeId === tree) this.#deliveries.delete(key);
  }

  #listDeliveries(partition: Partition, webhookId: string): readonly StoredEntry[] {
    return [...this.#deliveries].filter(
      ([, kept]) => kept.partition.tenantId === partition.tenantId && kept.delivery.webhookId === webhookId,
    );
  }
}

const toDeliveryKey = (partition: Partition, webhookId: string, id: string): string =>
  JSON.stringify([Partition.key(partition), webhookId, id]);

/** Compares deliveries by their time, then by their id. */
const compareDeliveries = (a: WebhookDelivery, b: WebhookDelivery): number =>
  a.at - b.at || (a.id < b.id ? -1 : 1);

/** Numbers entries within their groups, from 1. */
function number(
  entries: readonly StoredEntry[],
  groupOf: (entry: StoredEntry) => string,
): readonly { readonly entry: StoredEntry; readonly place: number }[] {
  const counts = new Map<string, number>();
  return entries.map((entry) => {
    const group = groupOf(entry);
    const place = (counts.get(group) ?? 0) + 1;
    counts.set(group, place);
    return { entry, place };
  });
}
