import { AgentId, type NumberedEvent } from "#kernel";
import { usd, clean, denialText, reasonText } from "#view";

/** The line of a run's log about an event; null where it says nothing. `command`: the words that start this program. */
export function eventLine(event: NumberedEvent, command = "reeve"): string | null {
  const words = wordsFor(event, command);
  return words === null ? null : `${AgentId.type(event.agent)}: ${words}`;
}

function wordsFor(event: NumberedEvent, command: string): string | null {
  // A log tells what a reader would act on; the rest is in `--json`.
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
