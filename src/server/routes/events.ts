import type { NumberedEvent } from "#kernel";
import type { RunDelta, RunHandle } from "#runtime";
import { mayReadEntries, type Principal } from "../auth.ts";
import { frame } from "../event-stream.ts";
import { listenAtOnce, merge } from "../merge.ts";
import { type Call, type Route, route, subscribe } from "../route.ts";
import { refuseRequest, shape } from "../shape.ts";
import { eventViewOf, showEvent } from "../withhold.ts";
import { findRun } from "./find-run.ts";

export const eventRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/runs/:run/events",
    scope: "read",
    forUsers: true,
    summary:
      "The events of its tree as they come; `Last-Event-ID`, else `after`, says where to resume. Pieces of answers need the scope content",
    answers: "text/event-stream",
    query: shape.object({
      after: shape.optional(shape.integer()),
      deltas: shape.optional(shape.flag()),
    }),
    handle: async (call) => {
      const run = await findRun(call);
      const after = lastSeen(call) ?? call.query.after ?? 0;
      const watch = (call.query.deltas ?? true) && mayReadEntries(call.principal);
      const { feeds } = call.host;
      return subscribe(call, async (signal) => {
        const events = feeds.events({ run, principal: call.principal, after, signal });
        return toEventFrames(shownTo(call.principal, events), watch ? run.deltas({ signal }) : emptyStream());
      });
    },
  }),
];

/** Begins a tree once it is watched: no piece of its answers is missed. */
export function watchStart(call: Call, run: RunHandle, begin: () => Promise<unknown>): Promise<Response> {
  const { host, principal } = call;
  return subscribe(call, async (signal) => {
    const deltas = listenAtOnce(mayReadEntries(principal) ? run.deltas({ signal }) : emptyStream());
    await begin();
    return toEventFrames(shownTo(principal, host.feeds.events({ run, principal, after: 0, signal })), deltas);
  });
}

function lastSeen({ header }: Call): number | null {
  const given = header("last-event-id");
  if (given === undefined || given === "") return null;
  return /^\d{1,15}$/.test(given)
    ? Number(given)
    : refuseRequest("Last-Event-ID", "must be the id of an event");
}

/**
 * Events have ids, in order and without a gap. Pieces of answers have none: they come in between, they are not repeated,
 * and where a reader resumes does not depend on them.
 */
async function* toEventFrames(
  events: AsyncGenerator<NumberedEvent, void>,
  deltas: AsyncGenerator<RunDelta, void>,
): AsyncGenerator<string, void> {
  for await (const either of merge(events, deltas)) {
    if ("first" in either) yield frame(JSON.stringify(either.first), { id: either.first.seq });
    else yield frame(JSON.stringify(either.second), { event: "delta" });
  }
  yield frame("{}", { event: "end" });
}

/** Yields events with what the caller may read. */
async function* shownTo(
  principal: Principal,
  events: AsyncGenerator<NumberedEvent, void>,
): AsyncGenerator<NumberedEvent, void> {
  const view = eventViewOf(principal);
  for await (const event of events) yield showEvent(view, event);
}

async function* emptyStream(): AsyncGenerator<never, void> {}
