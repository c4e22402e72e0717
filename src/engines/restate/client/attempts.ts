import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "#base";

/** Pauses between attempts, and the time for all of them. */
export interface AttemptsOptions {
  /** First pause. Each one is half as long again as the one before. */
  readonly firstMs: number;
  /** Longest pause. */
  readonly maxMs: number;
  readonly totalMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Yields once for each attempt, with pauses between, until the time is up. @throws the signal's reason. */
export async function* attempts({ totalMs, signal, ...pauses }: AttemptsOptions): AsyncGenerator<void> {
  const end = Date.now() + totalMs;
  for (let retry = 0; ; retry++) {
    yield;
    const pause = backoffMs(retry, { ...pauses, factor: 1.5 });
    if (Date.now() + pause > end) return;
    await delay(pause, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}
