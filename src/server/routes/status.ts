import { withTimeout } from "#base";
import { toJsonResponse, type Route, route, type ServerDeps } from "../route.ts";

/** Milliseconds within which a store that is there answers. */
const storeMs = 2_000;

const onTimeout = (): null => null;

/** Returns the number of live workers. Null if the store does not answer. */
async function countWorkers({ runtime, clock }: ServerDeps): Promise<number | null> {
  const count = async (): Promise<number> => (await runtime.store.workers.list(clock.now())).length;
  return withTimeout<number | null>({ clock, ms: storeMs, onTimeout, bestEffort: true }, count).catch(
    () => null,
  );
}

export const statusRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/status",
    scope: "read",
    forUsers: true,
    summary: "The version of the server, its workers, and whether the store answers and how far it is behind",
    handle: async ({ host }) => {
      const { runtime, version, dev } = host;
      const counted = await countWorkers(host);
      // Null: runs execute in this process, or it is unknown.
      const workers = runtime.hasWorkers ? counted : null;
      const store = counted === null ? "no-answer" : "ready";
      return toJsonResponse({
        version,
        workers,
        store,
        lagMs: runtime.lagMs,
        dev: dev && { failure: dev.failure() },
      });
    },
  }),
];
