import type { StoreHealth, WorkerRecord } from "#kernel";
import { withTimeout } from "#base";
import { toJsonResponse, type Route, route, type ServerDeps } from "../route.ts";

/** Milliseconds within which a store that is there answers. */
const storeMs = 2_000;

const onTimeout = (): null => null;

/** Returns the live workers. Null if the store does not answer. */
async function listWorkers({ runtime, clock }: ServerDeps): Promise<readonly WorkerRecord[] | null> {
  const limit = { clock, ms: storeMs, onTimeout, bestEffort: true };
  const list = (): Promise<readonly WorkerRecord[]> => runtime.store.workers.list(clock.now());
  return withTimeout<readonly WorkerRecord[] | null>(limit, list).catch(() => null);
}

const unknown = { lagMs: null, failedWrites: null, reducedTrees: null } as const;

/** Every process that executes runs writes to the store, here or elsewhere: the worst figures count. */
function worstOf(processes: readonly (StoreHealth | null)[]): StoreHealth {
  const worst = (figure: keyof StoreHealth): number =>
    Math.max(0, ...processes.map((each) => each?.[figure] ?? 0));
  return {
    lagMs: worst("lagMs"),
    failedWrites: worst("failedWrites"),
    reducedTrees: worst("reducedTrees"),
  };
}

export const statusRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/status",
    scope: "read",
    forUsers: true,
    summary:
      "The version of the server, its workers, and whether the store answers, how far it is behind, and whether writes fail",
    handle: async ({ host }) => {
      const { runtime, version, dev } = host;
      const found = await listWorkers(host);
      return toJsonResponse({
        version,
        // Null: runs execute in this process, or it is unknown.
        workers: runtime.hasWorkers ? (found?.length ?? null) : null,
        store: found === null ? "no-answer" : "ready",
        ...(found ? worstOf([runtime.storeHealth, ...found]) : unknown),
        dev: dev && { failure: dev.failure() },
      });
    },
  }),
];
