import { AgentId, type NumberedEvent } from "#kernel";
import { usd } from "../text/amounts.ts";
import { clean } from "../text/width.ts";
import { reasonText } from "../views/status-text.ts";

/** What a log of a run says about an event; null where it says nothing. */
export function eventLine(event: NumberedEvent): string | null {
  const words = wordsFor(event);
  return words === null ? null : `${AgentId.type(event.agent)} ${words}`;
}

function wordsFor(event: NumberedEvent): string | null {
  // A log tells what a reader would act on; the rest is in `--json`.
  if (event.type === "run.start") return "starts";
  if (event.type === "run.end")
    return `${event.status}: ${reasonText(event.stopReason)}, ${usd(event.spend)}`;
  if (event.type === "tool.start") return `calls ${clean(event.tool)}`;
  if (event.type === "spawn.queued") return `queues ${event.childAgent} for a slot`;
  if (event.type === "spawn.denied") return `may not hire ${event.childAgent}: ${event.reason}`;
  if (event.type === "approval.requested")
    return `needs approval for ${clean(event.tool)}: reeve approve ${event.approvalId}`;
  if (event.type === "approval.decided") return `is told: ${event.decision} by ${clean(event.by)}`;
  if (event.type === "run.paused") return `pauses: ${event.cause}`;
  if (event.type === "run.resumed") return "goes on";
  if (event.type === "run.cancelling") return `is to stop: ${clean(event.reason)}`;
  if (event.type === "budget.denied") return `meets its ${event.dimension} limit`;
  if (event.type === "retry.start") return `tries again: ${clean(event.error.message ?? event.error.code)}`;
  if (event.type === "guardrail.trip") return `trips ${clean(event.guardrail)}: ${clean(event.reason)}`;
  return null;
}
