import type { Clock } from "#kernel";

/** Limits of a call. */
export interface TimeoutOptions<T> {
  readonly clock: Clock;
  /** Maximum duration of the call. */
  readonly ms: number;
  /** Called when the time is up. Returns the replacement result, or throws. */
  readonly onTimeout: () => T;
  /** Ends the call with the reason of this signal. Default: none. */
  readonly signal?: AbortSignal;
  /** Whether the timer lets the process end. Default: false. */
  readonly bestEffort?: boolean;
}

/**
 * Calls `run` and waits for a limited time. The call's own signal is aborted when the time is up or when
 * `options.signal` is. A call that ignores it continues, and its outcome is dropped. @throws RangeError unless `ms` is
 * a number >= 0, the error of `onTimeout`, the reason of `options.signal`, or the error of the call.
 */
export function withTimeout<T>(
  { clock, ms, onTimeout, signal: outer, bestEffort = false }: TimeoutOptions<T>,
  run: (call: { readonly signal: AbortSignal }) => PromiseLike<T>,
): Promise<T> {
  const call = new LimitedCall();
  return new Promise<T>((resolve, reject) => {
    if (!(ms >= 0)) throw new RangeError(`a timeout must be a number of at least 0 ms, got ${ms}`);
    if (outer?.aborted) return reject(outer.reason);
    const stop = (): void => {
      finish();
      call.abort(outer?.reason);
      reject(outer?.reason);
    };
    const expire = (): void => {
      finish();
      try {
        const value = onTimeout();
        call.abort(new DOMException(`the call took longer than ${ms} ms`, "TimeoutError"));
        resolve(value);
      } catch (error) {
        call.abort(error);
        reject(error);
      }
    };
    const disarm = clock.callAt(clock.now() + ms, expire, { bestEffort });
    // Added and removed manually: a composed signal costs more than the call it guards.
    outer?.addEventListener("abort", stop, { once: true });
    const finish = (): void => {
      disarm();
      outer?.removeEventListener("abort", stop);
    };
    const fail = (error: unknown): void => {
      finish();
      reject(error);
    };
    try {
      run(call).then((value) => {
        finish();
        resolve(value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** A call that creates its signal on first use, because most calls never read it. */
class LimitedCall {
  #controller: AbortController | null = null;
  #aborted: { readonly reason: unknown } | null = null;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }
}
