// The part of webhooks that a receiver needs: another service, without a runtime.
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
