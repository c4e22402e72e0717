import { createHash } from "node:crypto";
import {
  Partition,
  webhookEvents,
  type ClaimedDelivery,
  type JsonObject,
  type NumberedEvent,
  type WebhookEvent,
} from "#kernel";
import type { WebhookMessage } from "./signature.ts";

/** An event that a webhook can be sent. */
export type SendableEvent = NumberedEvent<WebhookEvent>;

const sendable: ReadonlySet<string> = new Set(webhookEvents);

/** Whether a webhook can be sent this event. */
export const isSendable = (event: NumberedEvent): event is SendableEvent => sendable.has(event.type);

/** Returns the message of an event: ids, status and amounts, no content. */
export function toWebhookMessage(event: SendableEvent): WebhookMessage {
  const { type, at, treeId, runId, agent } = event;
  const data = { treeId, runId, agent, ...detailsOf(event) };
  return { type, timestamp: new Date(at).toISOString(), data };
}

function detailsOf(event: SendableEvent): JsonObject {
  switch (event.type) {
    case "run.end": {
      const { status, stopReason, durationMs, costMicros, error } = event;
      return { status, stopReason, durationMs, costMicros, ...(error && { error: error.code }) };
    }
    case "approval.requested": {
      const { approvalId, tool } = event;
      return { approvalId, tool };
    }
    case "budget.warning": {
      const { dimension, limit, used } = event;
      return { dimension, limit, used };
    }
  }
}

/** Returns the id of a message: the same in every try, and no hint of the tenant. */
export function messageId({ partition, webhookId, id }: ClaimedDelivery): string {
  const source = JSON.stringify([Partition.key(partition), webhookId, id]);
  return `msg_${createHash("sha256").update(source).digest("base64url").slice(0, 27)}`;
}
