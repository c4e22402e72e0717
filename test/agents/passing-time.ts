import type { ManualClock } from "reeve/testing";

/** Waits until something holds, without a clock: whatever can happen meanwhile, happens. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets a clock run, second by second, until something is over. */
export async function passing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = (): void => void (isOver = true);
  work.then(end, end);
  while (!isOver) await clock.advance(1_000);
  return work;
}
