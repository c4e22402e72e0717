export { createWebhooks, type WebhookParts, type WebhookSettings } from "./create-webhooks.ts";
export type { WebhookQueue } from "./webhook-queue.ts";
export {
  checkWebhookId,
  type SetWebhookResult,
  type WebhookDetails,
  type WebhookOptions,
  type Webhooks,
  type WebhookView,
} from "./webhooks.ts";
