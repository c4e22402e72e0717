import type { Clock } from "#kernel";
import { FetchLimitError, type FetchLimit } from "./net-errors.ts";

/** Settings of a transfer guard. */
interface TransferGuardOptions {
  readonly host: string;
  readonly limits: { readonly timeoutMs: number; readonly idleTimeoutMs: number };
  readonly clock: Clock;
  /** The caller's signal. */
  readonly signal: AbortSignal;
}

/** Ends a transfer that exceeds its time, stalls, or is aborted by its caller. */
export class TransferGuard {
  readonly #controller = new AbortController();
  readonly #options: TransferGuardOptions;
  readonly #stopTotal: () => void;
  #stopIdle: () => void = () => {};
  #ended = false;
  readonly #onAbort = (): void => this.abort(this.#options.signal.reason);

  constructor(options: TransferGuardOptions) {
    this.#options = options;
    const { limits, signal } = options;
    this.#stopTotal = this.#arm(limits.timeoutMs, () =>
      this.fail("time", `longer than ${limits.timeoutMs} ms`),
    );
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get host(): string {
    return this.#options.host;
  }

  /** Notes that something has arrived. */
  touch(): void {
    this.#stopIdle();
    if (this.#ended) return;
    const { idleTimeoutMs } = this.#options.limits;
    this.#stopIdle = this.#arm(idleTimeoutMs, () =>
      this.fail("idle", `nothing arrived for ${idleTimeoutMs} ms`),
    );
  }

  /** Ends the transfer with a limit. Returns the error. */
  fail(limit: FetchLimit, detail: string): FetchLimitError {
    const error = new FetchLimitError({ host: this.host, limit, detail });
    this.abort(error);
    return error;
  }

  abort(reason: unknown): void {
    this.end();
    this.#controller.abort(reason);
  }

  /** Stops the timers: the transfer is over. */
  end(): void {
    this.#ended = true;
    this.#stopTotal();
    this.#stopIdle();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
  }

  #arm(ms: number, act: () => void): () => void {
    if (ms === Infinity) return () => {};
    return this.#options.clock.callAt(this.#options.clock.now() + ms, act);
  }
}
