import { memo, type ReactNode } from "react";
import { clockTime, count, dollars } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import type { TreeEvent } from "../live/messages.ts";

const shown = 40;

type Details = {
  readonly [Type in TreeEvent["type"]]?: (event: TreeEvent & { readonly type: Type }) => string;
};

/** A short description of an event, by its type. */
const details: Details = {
  "budget.reserved": ({ tokens, costMicros }) => `${count(tokens)} tokens, at most ${dollars(costMicros)}`,
  "budget.settled": ({ tokens, costMicros, inDoubt }) =>
    `${count(tokens)} tokens, ${dollars(costMicros)}${inDoubt ? ", in doubt" : ""}`,
  "budget.denied": ({ reason, dimension, limit, used }) =>
    `${reason}: ${dimension}, ${count(used)} of ${count(limit)} used`,
  "budget.waiting": ({ dimension, inFlight }) =>
    `${dimension}, for ${inFlight === 0 ? "a top-up" : `${inFlight} calls in flight`}`,
  "budget.topped-up": ({ tokens, costMicros, turns }) =>
    `${dollars(costMicros)}, ${count(tokens)} tokens, ${count(turns)} turns`,
  "budget.warning": ({ dimension, limit, used }) => `${dimension}, ${count(used)} of ${count(limit)}`,
  "guardrail.trip": ({ guardrail, decision }) => `${guardrail}: ${decision}`,
  "permission.denied": ({ tool }) => tool,
  "model.start": ({ model }) => model,
  "tool.start": ({ tool }) => tool,
  "tool.end": ({ tool, status, durationMs }) => `${tool} ${status}, ${(durationMs / 1000).toFixed(1)} s`,
  "run.end": ({ status, costMicros }) => `${status}, ${dollars(costMicros)}`,
  "run.paused": ({ cause }) => cause,
  "spawn.admitted": ({ childAgent }) => childAgent,
  "spawn.queued": ({ childAgent }) => childAgent,
  "approval.requested": ({ tool }) => tool,
  "approval.decided": ({ decision, by }) => `${decision} by ${by}`,
};

/** Describes an event in a few words. */
export function detailOf(event: TreeEvent): string {
  const known: Readonly<Record<string, { tell(event: TreeEvent): string }["tell"] | undefined>> = details;
  return known[event.type]?.(event) ?? "";
}

/** The last events of a tree, newest first. */
export const EventLog = memo(function EventLog({
  events,
}: {
  readonly events: readonly TreeEvent[];
}): ReactNode {
  return (
    // Scrolls, so the keyboard must reach it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="log" role="region" aria-label="Events, newest first" tabIndex={0}>
      {events
        .slice(-shown)
        .toReversed()
        .map((event) => (
          <EventLine key={event.seq} event={event} />
        ))}
    </div>
  );
});

/** An event never changes, so its line is painted once. */
const EventLine = memo(
  ({ event }: { readonly event: TreeEvent }): ReactNode => (
    <div>
      <span>{count(event.seq)}</span>
      <span>{clockTime(event.at)}</span>
      <b className="el">
        <InertText text={event.agent} />
      </b>
      <span className="el">{event.type}</span>
      <span className="el">
        <InertText text={detailOf(event)} />
      </span>
    </div>
  ),
  (a, b) => a.event.seq === b.event.seq,
);
