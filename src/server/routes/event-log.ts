import { eventTypes, type NumberedEvent } from "#kernel";
import { partitionOf } from "../auth.ts";
import { type Route, route } from "../route.ts";
import { refuseRequest, type Shape, shape } from "../shape.ts";
import { eventViewOf, showEvent } from "../withhold.ts";
import { toCompressedResponse } from "./runs.ts";
import { findRun } from "./find-run.ts";

const eventsPerRead = 1_000;
/** Events that one request reads at most, even if a filter matches few of them. */
const maxRead = 10_000;

/** Event types or prefixes of them, separated by commas: `budget,run.end`. */
const types: Shape<readonly string[]> = {
  schema: { type: "string", pattern: "^[a-z.-]{1,40}(,[a-z.-]{1,40})*$" },
  decode: (value, at) => {
    const names = String(value).split(",");
    return names.every(isKnown)
      ? names
      : refuseRequest(at, "must be event types, or prefixes of event types");
  },
};

const isKnown = (name: string): boolean => eventTypes.some((type) => isOf(type, name));

const isOf = (type: string, name: string): boolean => type === name || type.startsWith(`${name}.`);

export const eventLogRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/runs/:run/log",
    scope: "read",
    forUsers: true,
    summary:
      "The stored events of its tree after a number, in pages: `own` leaves out other runs, `type` other types. `next` is null at the end; `seq` is the last event that was read",
    query: shape.object({
      after: shape.optional(shape.integer()),
      size: shape.optional(shape.integer({ min: 1, max: 1_000 })),
      type: shape.optional(types),
      own: shape.optional(shape.flag()),
    }),
    handle: async (call) => {
      const { host, principal, query } = call;
      const { treeId, runId } = await findRun(call);
      const { size = 500, own = false, type: names } = query;
      const isWanted = (event: NumberedEvent): boolean =>
        (!own || event.runId === runId) && (!names || names.some((name) => isOf(event.type, name)));
      const view = eventViewOf(principal);
      const items: NumberedEvent[] = [];
      let seq = query.after ?? 0;
      let isEnd = false;
      for (let read = 0; read < maxRead && items.length < size && !isEnd;) {
        const range = { after: seq, limit: eventsPerRead };
        const found = await host.runtime.store.events.read(partitionOf(principal), treeId, range);
        isEnd = found.length < eventsPerRead;
        read += found.length;
        for (const event of found) {
          if (items.length === size) {
            isEnd = false;
            break;
          }
          seq = event.seq;
          if (isWanted(event)) items.push(showEvent(view, event));
        }
      }
      const next = isEnd ? null : String(seq);
      return toCompressedResponse({ items, next, seq }, call.header("accept-encoding") ?? "");
    },
  }),
];
