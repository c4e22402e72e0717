export { createWebhooks, type WebhookParts, type WebhookSettings } from "./create-webhooks.ts";
export type { WebhookQueue } from "./webhook-queue.ts";
export {
  ReplayCache,
  signWebhook,
  verifyWebhook,
  WebhookRefusedError,
  type VerifiedWebhook,
  type VerifyWebhookOptions,
  type WebhookMessage,
  type WebhookRefusal,
} from "./signature.ts";
export {
  checkWebhookId,
  type DeliveryFilter,
  type SetWebhookResult,
  type WebhookDetails,
  type WebhookOptions,
  type WebhookOwner,
  type Webhooks,
  type WebhookView,
} from "./webhooks.ts";
