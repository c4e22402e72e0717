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
  /** Requests without a valid key, of all callers together. Default: 600. */
  readonly failuresPerMinute?: number;
  /** Shortest seconds between two ticks of a schedule. Default: 60. */
  readonly scheduleIntervalS?: number;
  /** Milliseconds until a request must be answered, or a stream must begin. Default: 60,000. */
  readonly requestTimeoutMs?: number;
  /** Concurrent trees that are starting or not yet in the store, chats included. Default: 32. */
  readonly starts?: number;
  /** Concurrent requests that cancel, pause or resume, decide about approvals, or switch something off. Default: 32. */
  readonly control?: number;
  /** Concurrent requests to mounted parts, such as MCP. Default: 64. */
  readonly mounts?: number;
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
  failuresPerMinute: 600,
  scheduleIntervalS: 60,
  requestTimeoutMs: 60_000,
  starts: 32,
  control: 32,
  mounts: 64,
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
  readonly #whose: string;
  /** When each key will have its whole allowance again. */
  readonly #fullAt = new Map<string, number>();

  /** `whose`: the requests that it counts, for the error. */
  constructor(perMinute: number, clock: Clock, whose = "with this key") {
    this.#perMinute = perMinute;
    this.#clock = clock;
    this.#whose = whose;
  }

  /** Counts a request. @throws HttpError */
  take(key: string): void {
    const fullAt = this.check(key);
    if (this.#fullAt.size >= 10_000) this.#forget(this.#clock.now());
    this.#fullAt.set(key, fullAt);
  }

  /** Checks whether one more request is allowed. Returns when its key has its whole allowance again. @throws HttpError */
  check(key: string): number {
    const now = this.#clock.now();
    const costMs = 60_000 / this.#perMinute;
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + costMs;
    const waitMs = fullAt - now - 60_000;
    if (waitMs <= 0) return fullAt;
    const retryAfterS = Math.ceil(waitMs / 1000);
    const message = `too many requests ${this.#whose}: retry after ${retryAfterS} s`;
    throw new HttpError("too-many-requests", message, { retryAfterS });
  }

  #forget(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
  }
}

const pools = ["starts", "control", "mounts", "calls", "reads"] as const;

/**
 * The pool a request counts against. What stops or decides something has a pool of its own, so that no other request can
 * keep a caller from it.
 */
export type Pool = (typeof pools)[number];

/** Creates the semaphores of a server, one for each pool. */
export function createPools(limits: Required<Limits>): Readonly<Record<Pool, FairSemaphore>> {
  const entries = pools.map((pool) => [pool, new FairSemaphore(pool, limits[pool])]);
  return Object.fromEntries(entries);
}

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

/** A semaphore, and the key to take a permit for. */
type Permit = readonly [semaphore: FairSemaphore, key: string];

/** Takes all of these permits, or none. Returns a function that returns them. @throws HttpError */
export function takePermits(permits: readonly Permit[]): () => void {
  const taken: (() => void)[] = [];
  const release = (): void => {
    for (const each of taken) each();
  };
  try {
    for (const [semaphore, key] of permits) taken.push(semaphore.take(key));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}
