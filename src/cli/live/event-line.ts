import { AgentId, type NumberedEvent } from "#kernel";
import { usd, clean, denialText, reasonText } from "#view";

/** Returns the log line of an event. Null if it has none. `command`: the command that starts this program. */
export function eventLine(event: NumberedEvent, command = "reeve"): string | null {
  const words = wordsFor(event, command);
  return words === null ? null : `${AgentId.type(event.agent)}: ${words}`;
}

function wordsFor(event: NumberedEvent, command: string): string | null {
  // The log shows only events that a reader acts on. `--json` has all of them.
  if (event.type === "run.start") return "started";
  if (event.type === "run.end")
    return `${event.status}: ${reasonText(event.stopReason)}, ${usd(event.costMicros)}`;
  if (event.type === "tool.start") return `calling ${clean(event.tool)}`;
  if (event.type === "tool.end" && event.status === "error")
    return `error from ${clean(event.tool)}: ${command} why ${event.treeId}`;
  if (event.type === "spawn.queued") return `queued ${event.childAgent} for a slot`;
  if (event.type === "spawn.denied") return `cannot spawn ${event.childAgent}: ${event.reason}`;
  if (event.type === "approval.requested" && event.asks)
    return `asks a question: ${command} answer ${event.approvalId}`;
  if (event.type === "approval.requested")
    return `waiting for approval of ${clean(event.tool)}: ${command} approve ${event.approvalId}`;
  if (event.type === "approval.decided") return `approval: ${event.decision} by ${clean(event.by)}`;
  if (event.type === "run.paused") return `paused: ${event.cause}`;
  if (event.type === "run.resumed") return "resumed";
  if (event.type === "run.cancelling") return `cancelling: ${clean(event.reason)}`;
  if (event.type === "budget.denied") return `call denied: ${denialText(event, null)}`;
  if (event.type === "retry.start") return `retrying: ${clean(event.error.message ?? event.error.code)}`;
  if (event.type === "guardrail.trip") return `guardrail ${clean(event.guardrail)}: ${clean(event.reason)}`;
  return null;
}
