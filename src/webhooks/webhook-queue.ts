import {
  RunId,
  type NewWebhookDelivery,
  type NumberedEvent,
  type Partition,
  type Store,
  type WebhookRecord,
} from "#kernel";
import { isSendable, type SendableEvent } from "./message.ts";

/**
 * Queues events of a tree for each subscribed webhook of its tenant. The projector calls it after the events are
 * stored, and again after a crash: a repeated call changes nothing. Receivers are not called here.
 */
export class WebhookQueue {
  readonly #store: Pick<Store, "webhooks">;
  readonly #onAdded: () => void;

  constructor(store: Pick<Store, "webhooks">, onAdded: () => void) {
    this.#store = store;
    this.#onAdded = onAdded;
  }

  async take(partition: Partition, events: readonly NumberedEvent[]): Promise<void> {
    const sendable = events.filter(isSendable);
    if (sendable.length === 0) return;
    const webhooks = await this.#store.webhooks.list(partition);
    const deliveries = webhooks.flatMap((webhook) =>
      sendable.filter((event) => isWanted(webhook, event)).map((event) => deliveryOf(webhook, event)),
    );
    if (deliveries.length === 0) return;
    await this.#store.webhooks.enqueue(partition, deliveries);
    this.#onAdded();
  }
}

function isWanted({ events, allRuns }: WebhookRecord, event: SendableEvent): boolean {
  if (!events.includes(event.type)) return false;
  return event.type !== "run.end" || allRuns || RunId.isRoot(event.runId);
}

const deliveryOf = ({ id }: WebhookRecord, { treeId, seq, type, at }: SendableEvent): NewWebhookDelivery => ({
  webhookId: id,
  treeId,
  seq,
  event: type,
  at,
});
