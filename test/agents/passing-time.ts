import type { ManualClock } from "reeve/testing";

/** Waits until something holds, without a clock: whatever can happen meanwhile, happens. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets a clock run, second by second, until something is over. */
export async function passing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  work.then(end, end);
  while (!over.signal.aborted) await clock.advance(1_000);
  return work;
}
