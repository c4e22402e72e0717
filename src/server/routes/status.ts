import { answer, type Route, route } from "../route.ts";

export const statusRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/status",
    scope: "read",
    forUsers: true,
    summary: "The version of the server, its workers, and how far the store is behind",
    handle: async ({ host }) => {
      const { runtime, clock, version, dev } = host;
      // Null: runs execute in this process.
      const workers = runtime.hasWorkers ? (await runtime.store.workers.list(clock.now())).length : null;
      return answer({ version, workers, lagMs: runtime.lagMs, dev: dev && { failure: dev.failure() } });
    },
  }),
];
