import type { Clock } from "#kernel";

/** Runs something no longer than it may. What ignores its signal is left behind. @throws the signal's reason, or `late`. */
export function within<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly signal: AbortSignal; readonly late: () => Error },
  run: (call: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { signal: outer } = limit;
  const call = new LimitedCall();
  return new Promise<T>((resolve, reject) => {
    const stop = (reason: unknown): void => {
      over();
      call.stop(reason);
      reject(reason);
    };
    const stopped = (): void => stop(outer.reason);
    const disarm = clock.callAt(clock.now() + limit.ms, () => stop(limit.late()));
    // Listeners by hand, and taken away again: composed signals cost more than the call they guard.
    const over = (): void => {
      disarm();
      outer.removeEventListener("abort", stopped);
    };
    if (outer.aborted) return stopped();
    outer.addEventListener("abort", stopped, { once: true });
    run(call).then(
      (value) => {
        over();
        resolve(value);
      },
      (error: unknown) => {
        over();
        reject(error);
      },
    );
  });
}

/** Its signal is made when somebody wants it: many calls never look. */
class LimitedCall {
  #controller: AbortController | null = null;
  #isStopped = false;
  #reason: unknown;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isStopped) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  stop(reason: unknown): void {
    this.#isStopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
