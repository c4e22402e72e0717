import type { JsonObject } from "reeve";

/** A route that is for the whole tenant. */
interface TenantRow {
  readonly answer: "tenant";
  readonly body?: () => JsonObject;
}

const tenant: TenantRow = { answer: "tenant" };
const act: TenantRow = { answer: "tenant", body: () => ({}) };

/** The routes of webhooks: a webhook is told of all users of its tenant. */
export const webhookRows: Readonly<Record<string, readonly TenantRow[]>> = {
  "get /webhooks": [tenant],
  "get /webhooks/:webhook": [tenant],
  // Removed first, so that what comes after finds one.
  "delete /webhooks/:webhook": [tenant],
  "put /webhooks/:webhook": [{ answer: "tenant", body: () => ({ url: "https://receiver.example/" }) }],
  "post /webhooks/:webhook/rotate-secret": [act],
  "get /webhooks/:webhook/deliveries": [tenant],
  "post /webhooks/:webhook/redeliver": [act],
};
