import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "#base";

/** Delays between attempts, and the total time. */
export interface AttemptsOptions {
  /** First delay. Each one is 1.5 times the previous one. */
  readonly firstMs: number;
  /** Maximum delay. */
  readonly maxMs: number;
  readonly totalMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Yields once for each attempt, with delays between, until the time is up. @throws the signal's reason. */
export async function* backoff({ totalMs, signal, ...pauses }: AttemptsOptions): AsyncGenerator<void> {
  const end = Date.now() + totalMs;
  for (let retry = 0; ; retry++) {
    yield;
    const pause = backoffMs(retry, { ...pauses, factor: 1.5 });
    if (Date.now() + pause > end) return;
    await delay(pause, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}
