import type { Clock } from "#kernel";
import { HttpError } from "./http-error.ts";

/** Limits of the server. Requests beyond them are refused at once with an explanation. */
export interface Limits {
  /** Size of a request body. Default: 1 MiB. */
  readonly bodyBytes?: number;
  /** Size of a request body that may hold files and states its length. Default: 32 MiB. */
  readonly uploadBytes?: number;
  /** Requests at the same time that are larger than `bodyBytes`. Default 8. */
  readonly uploads?: number;
  /** Requests per API key. Default: 600. */
  readonly requestsPerMinute?: number;
  /** Shortest seconds between two ticks of a schedule. Default: 60. */
  readonly scheduleIntervalS?: number;
  /** Milliseconds until a request must be answered, or a stream must begin. Default: 60,000. */
  readonly requestTimeoutMs?: number;
  /** Concurrent trees that are starting or not yet in the store, chats included. Default: 32. */
  readonly starts?: number;
  /** Other concurrent requests that call a tree. Default: 64. */
  readonly calls?: number;
  /** Concurrent requests that only read the store. Default: 64. */
  readonly reads?: number;
  /** Streams that are open at the same time. Default 1,000. */
  readonly subscribers?: number;
  /** Streams per API key. Default: 100. */
  readonly subscribersPerKey?: number;
  /** Trees that one live stream watches. Default 32. */
  readonly watchedTrees?: number;
  /** Milliseconds that a subscriber may leave its connection full before it is disconnected. Default: 30,000. */
  readonly writeTimeoutMs?: number;
  /** Seconds between heartbeats of a quiet stream. Default: 15. */
  readonly heartbeatS?: number;
}

export const defaultLimits: Required<Limits> = {
  bodyBytes: 1_048_576,
  uploadBytes: 33_554_432,
  uploads: 8,
  requestsPerMinute: 600,
  scheduleIntervalS: 60,
  requestTimeoutMs: 60_000,
  starts: 32,
  calls: 64,
  reads: 64,
  subscribers: 1_000,
  subscribersPerKey: 100,
  watchedTrees: 32,
  writeTimeoutMs: 30_000,
  heartbeatS: 15,
};

/** Requests of each key: a minute's worth at once, then as fast as they are refilled. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #clock: Clock;
  /** When each key will have its whole allowance again. */
  readonly #fullAt = new Map<string, number>();

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** @throws HttpError */
  take(key: string): void {
    const now = this.#clock.now();
    const costMs = 60_000 / this.#perMinute;
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + costMs;
    const waitMs = fullAt - now - 60_000;
    if (waitMs > 0) {
      const retryAfterS = Math.ceil(waitMs / 1000);
      throw new HttpError(
        "too-many-requests",
        `too many requests with this key: retry after ${retryAfterS} s`,
        { retryAfterS },
      );
    }
    if (this.#fullAt.size >= 10_000) this.#forget(now);
    this.#fullAt.set(key, fullAt);
  }

  #forget(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
  }
}

/** The pool a request counts against. Starts have their own, so they cannot block reads or control calls. */
export type Pool = "starts" | "calls" | "reads";

/** Creates the semaphores of a server, one for each pool. */
export const createPools = (limits: Required<Limits>): Readonly<Record<Pool, FairSemaphore>> => ({
  starts: new FairSemaphore("starts", limits.starts),
  calls: new FairSemaphore("calls", limits.calls),
  reads: new FairSemaphore("reads", limits.reads),
});

/** A semaphore with fair shares: one key may hold at most as many permits as remain free. */
export class FairSemaphore {
  readonly #max: number;
  readonly #maxEach: number;
  readonly #what: string;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(what: string, max: number, maxEach = max) {
    this.#what = what;
    this.#max = max;
    this.#maxEach = maxEach;
  }

  /** Takes a permit. Returns a function that returns it, once. @throws HttpError */
  take(key: string): () => void {
    const own = this.#taken.get(key) ?? 0;
    const free = this.#max - this.#all;
    if (free <= 0)
      throw new HttpError("overloaded", `the server has too many ${this.#what} at once: retry after 1 s`, {
        retryAfterS: 1,
      });
    if (own >= Math.min(free, this.#maxEach))
      throw new HttpError(
        "too-many-requests",
        `too many ${this.#what} at once by this key or tenant: retry after 1 s`,
        { retryAfterS: 1 },
      );
    this.#all += 1;
    this.#taken.set(key, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#all -= 1;
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }
}
