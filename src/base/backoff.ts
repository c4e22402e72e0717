/** A schedule of growing delays. */
export interface BackoffOptions {
  /** Delay before the first retry. */
  readonly firstMs: number;
  /** Growth from one delay to the next. Default: 2. */
  readonly factor?: number;
  /** Longest delay, before jitter. Default: no limit. */
  readonly maxMs?: number;
  /** Variation of each delay, so that callers that failed together do not retry together. Default: none. */
  readonly jitter?: {
    /** Largest deviation to either side, as a share of the delay: 0.2 gives 80 % to 120 %. */
    readonly share: number;
    /** Returns a number from 0 to below 1. */
    readonly random: () => number;
  };
}

/** Returns the delay before a retry. The first retry is number 0; `Infinity` gives the longest delay. */
export function backoffMs(
  retry: number,
  { firstMs, factor = 2, maxMs = Infinity, jitter }: BackoffOptions,
): number {
  const delayMs = Math.min(firstMs * factor ** retry, maxMs);
  return jitter ? delayMs * (1 - jitter.share + 2 * jitter.share * jitter.random()) : delayMs;
}
