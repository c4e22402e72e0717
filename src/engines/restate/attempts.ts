import { setTimeout as delay } from "node:timers/promises";

/** When to try again, and for how long. */
export interface Patience {
  readonly firstMs: number;
  /** Each pause is half as long again as the last, up to this. */
  readonly lastMs: number;
  readonly totalMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Yields once for each try, with pauses between; ends when patience does. @throws the signal's reason. */
export async function* attempts({ firstMs, lastMs, totalMs, signal }: Patience): AsyncGenerator<void> {
  const end = Date.now() + totalMs;
  for (let pause = firstMs; ; pause = Math.min(lastMs, pause * 1.5)) {
    yield;
    if (Date.now() + pause > end) return;
    await delay(pause, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}
