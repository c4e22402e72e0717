import type { Store, WebhookRecord } from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/** Seals the URL and the secrets of webhooks with the key of the tenant. Deliveries hold no content. */
export function sealedWebhooks(webhooks: Store["webhooks"], contentOf: ContentOf): Store["webhooks"] {
  return {
    put: async (partition, webhook) => {
      const content = await contentOf(partition);
      const target = content.seal(`webhook ${webhook.id}`, webhook.target);
      return webhooks.put(partition, { ...webhook, target });
    },
    get: async (partition, id) => {
      const kept = await webhooks.get(partition, id);
      return kept && openWebhook(await contentOf(partition), kept);
    },
    list: async (partition) => {
      const kept = await webhooks.list(partition);
      if (kept.length === 0) return kept;
      const content = await contentOf(partition);
      return kept.map((webhook) => openWebhook(content, webhook));
    },
    remove: (...given) => webhooks.remove(...given),
    enqueue: (...given) => webhooks.enqueue(...given),
    deliveries: (...given) => webhooks.deliveries(...given),
    count: (...given) => webhooks.count(...given),
    redeliver: (...given) => webhooks.redeliver(...given),
    claim: (...given) => webhooks.claim(...given),
    settle: (...given) => webhooks.settle(...given),
  };
}

const openWebhook = (content: Content, kept: WebhookRecord): WebhookRecord => ({
  ...kept,
  target: content.open(`webhook ${kept.id}`, kept.target),
});
