import type { Clock } from "#kernel";

/** Runs something no longer than it may. What ignores its signal is left behind. @throws the signal's reason, or `late`. */
export async function within<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly signal: AbortSignal; readonly late: () => Error },
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = limit;
  const timer = new AbortController();
  const inner = new AbortController();
  const stop = (): void => inner.abort(signal.reason);
  try {
    return await new Promise<T>((resolve, reject) => {
      inner.signal.addEventListener("abort", () => reject(inner.signal.reason), { once: true });
      // Listeners by hand, and taken away again: composed signals cost more than the call they guard.
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      clock.waitUntil(clock.now() + limit.ms, timer.signal).then(
        () => inner.abort(limit.late()),
        () => undefined,
      );
      run(inner.signal).then(resolve, reject);
    });
  } finally {
    signal.removeEventListener("abort", stop);
    timer.abort(over);
  }
}

/** Nobody sees it: made once, because an error with its stack is not cheap. */
const over = new Error("over");
