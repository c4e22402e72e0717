import type { Clock } from "#kernel";

/** The longest delay a platform timer can hold; longer waits are made of several. */
const longestMs = 2_147_483_647;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  waitUntil: (at, signal) =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const look = (): void => {
        const left = at - Date.now();
        if (left > 0) {
          timer = setTimeout(look, Math.min(left, longestMs));
          return;
        }
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      if (signal?.aborted) {
        stop();
        return;
      }
      signal?.addEventListener("abort", stop, { once: true });
      look();
    }),
};
