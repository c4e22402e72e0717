import type { Attributes } from "@opentelemetry/api";
import { erasedText, eraseEvent, type ErrorData, type NumberedEvent } from "#kernel";

const base = new Set(["type", "eventId", "treeId", "runId", "agent", "at", "attempt", "seq", "error"]);

/** Returns names, amounts and kinds of an event; its content only if requested. */
export function attributesOf(event: NumberedEvent, captureContent: boolean): Attributes {
  const told = captureContent ? event : eraseEvent(event);
  const attributes: Attributes = {};
  for (const [field, value] of Object.entries(told)) {
    if (base.has(field) || value === erasedText) continue;
    if (isPlain(value)) attributes[`reeve.${field}`] = value;
  }
  return attributes;
}

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** Returns the message of an error, if content is requested. */
export function toErrorText(error: ErrorData | undefined, captureContent: boolean): string | undefined {
  return captureContent && error?.message !== erasedText ? error?.message : undefined;
}
