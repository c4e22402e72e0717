import type { Clock } from "#kernel";

/** Maximum delay of a platform timer. Longer waits use several. */
const longestMs = 2_147_483_647;

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  waitUntil: (at, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (at <= Date.now()) return resolve();
      const stop = (): void => {
        disarm();
        reject(signal?.reason);
      };
      const disarm = systemClock.callAt(at, () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
      signal?.addEventListener("abort", stop, { once: true });
    }),
  callAt: (at, act, { bestEffort = false } = {}) => {
    const arm = (): NodeJS.Timeout => {
      const timer = setTimeout(look, Math.min(Math.max(at - Date.now(), 0), longestMs));
      return bestEffort ? timer.unref() : timer;
    };
    const look = (): void => {
      if (at > Date.now()) timer = arm();
      else act();
    };
    let timer = arm();
    return () => clearTimeout(timer);
  },
};
