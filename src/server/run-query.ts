import type { TreeSearch } from "#kernel";
import { refuseRequest } from "./shape.ts";

/*
 * Filters of the list of runs, and the indexes that serve them. A combination without an index would read every run of the
 * tenant, so it is refused with the filter to leave out.
 */

/** The filters of a request, as far as indexes go by them. */
interface RunQuery {
  readonly status?: unknown;
  readonly stop?: unknown;
  readonly agent?: unknown;
  readonly user?: unknown;
  readonly session?: unknown;
  readonly since?: unknown;
  readonly until?: unknown;
  readonly asks?: boolean | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly minSpend?: number | undefined;
}

/** Returns the search that a request is; null: it is a list by time. */
export function searchOf({ id, name, minSpend }: RunQuery): TreeSearch | null {
  if (id !== undefined) return { id };
  if (name !== undefined) return { name };
  return minSpend === undefined ? null : { minCostMicros: minSpend };
}

const searches = ["id", "name", "minSpend"] as const;
const filters = ["status", "stop", "agent", "user", "session", "since", "until", "asks"] as const;

/** Refuses a combination of filters that no index serves. @throws HttpError */
export function checkServed(query: RunQuery): void {
  const isGiven = (name: keyof RunQuery): boolean => query[name] !== undefined;
  const [search, second] = searches.filter(isGiven);
  const other = second ?? (search && filters.find(isGiven));
  if (search && other)
    refuseRequest(`query.${search}`, `cannot be combined with ${other}: remove one of them`);
  // Trees that wait for approval, and the runs of one session or user, are few, so any filter is cheap.
  if (query.asks || isGiven("user") || isGiven("session") || !isGiven("stop")) return;
  const beside = (["status", "agent"] as const).find(isGiven);
  if (beside)
    refuseRequest(
      "query.stop",
      `cannot be combined with ${beside}: remove one of them, or add a user or a session`,
    );
}
