import type { Clock } from "#kernel";

/** A clock that moves only on request. */
export interface ManualClock extends Clock {
  /** Advances the time and wakes all due sleepers, earliest first. */
  advance(ms: number): Promise<void>;
  /** Number of sleepers. */
  readonly waiting: number;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A clock for tests. Starts at `start`, by default 2026-01-01. */
export function manualClock(start: number = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start;
  const waiters = new Set<{ readonly at: number; readonly resolve: () => void }>();
  return {
    now: () => now,
    get waiting() {
      return waiters.size;
    },
    waitUntil: (at, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        if (at <= now) {
          resolve();
          return;
        }
        const waiter = { at, resolve };
        waiters.add(waiter);
        signal?.addEventListener("abort", () => {
          if (waiters.delete(waiter)) reject(signal.reason);
        });
      }),
    callAt: (at, act) => {
      const waiter = { at, resolve: act };
      waiters.add(waiter);
      return () => void waiters.delete(waiter);
    },
    async advance(ms) {
      const target = now + ms;
      for (;;) {
        const due = [...waiters].filter(({ at }) => at <= target).toSorted((a, b) => a.at - b.at)[0];
        if (!due) break;
        waiters.delete(due);
        now = Math.max(now, due.at);
        due.resolve();
        await settle();
      }
      now = target;
      await settle();
    },
  };
}
