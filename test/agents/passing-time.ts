import type { ManualClock } from "reeve/testing";

/** Waits until a condition holds, without a clock, by running pending callbacks. */
export async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets a clock run, second by second, until something is over. */
export async function passTimeUntil<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  work.then(end, end);
  while (!over.signal.aborted) await clock.advance(1_000);
  return work;
}
