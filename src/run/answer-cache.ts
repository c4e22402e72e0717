import type { AnswerCache, Clock, HistoryRetention, RunScope, Store } from "#kernel";
import { withTimeout } from "#base";

/** Maximum time that a step waits for the cache. */
const maxWaitMs = 2_000;

/** The answer cache of one run. */
export interface RunCache {
  /** See {@link StepScope.keepS}. */
  readonly keepS: number;
  /** Null: there is no store. */
  readonly answers: AnswerCache | null;
}

interface RunCacheOptions {
  readonly scope: RunScope;
  readonly retention: HistoryRetention;
  readonly clock: Clock;
  readonly eraseAfterS: number;
}

/**
 * Returns the store's cache for one run. It never fails a step: an entry that fails or takes too long to read counts as
 * absent.
 */
export function createRunCache(store: Store | null, options: RunCacheOptions): RunCache {
  const { scope, retention, clock, eraseAfterS } = options;
  const keepS = { permanent: Infinity, run: eraseAfterS, none: 0 }[retention];
  if (!store) return { keepS, answers: null };
  const { cache } = store;
  const { treeId, userId, tenantId } = scope;
  const partition = { tenantId };
  const attempt = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    const limit = { clock, ms: maxWaitMs, bestEffort: true, onTimeout: () => undefined };
    return withTimeout<T | undefined>(limit, call).catch(() => undefined);
  };
  const answers: AnswerCache = {
    get: async (key) => (await attempt(() => cache.get(partition, key, clock.now())))?.value,
    put: async (key, { value, until }, limits) => {
      const entry = {
        key,
        value,
        at: clock.now(),
        until,
        treeId,
        userId,
        isPermanent: retention === "permanent",
      };
      await attempt(() => cache.put(partition, entry, limits));
    },
  };
  return { keepS, answers };
}
