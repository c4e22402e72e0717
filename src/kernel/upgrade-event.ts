import type { ErrorData } from "./errors.ts";
import type { NumberedEvent } from "./event.ts";

/** Reason codes that earlier protocols wrote, with the present ones. */
const renamedReasons: ReadonlyMap<unknown, "no-lower-priority"> = new Map([
  ["nobody-below", "no-lower-priority"],
]);

/** Returns a stored error with the present reason code. */
export function upgradeError(error: ErrorData): ErrorData {
  const reason = renamedReasons.get(error["reason"]);
  return reason ? { ...error, reason } : error;
}

/** Returns a stored event with the present names. An event of the present protocol is returned unchanged. */
export function upgradeEvent(event: NumberedEvent): NumberedEvent {
  if (event.type === "spawn.denied") {
    const reason = renamedReasons.get(event.reason);
    return reason ? { ...event, reason } : event;
  }
  if (event.type !== "run.end" || !event.error) return event;
  const error = upgradeError(event.error);
  return error === event.error ? event : { ...event, error };
}
