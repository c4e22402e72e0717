import { hash } from "node:crypto";
import type { Clock } from "#kernel";
import { LruMap } from "#base";
import { RateLimit } from "./limits.ts";

/** Number of admitted keys that are remembered. */
const maxAdmitted = 10_000;

/**
 * Bounds the requests without a valid key, because each may cost a query of the store. Once too many have failed, only
 * callers that were admitted before are looked up. So a caller that guesses keys keeps out those that are new, and no others.
 */
export class Strangers {
  readonly #failures: RateLimit;
  /** Hashes of the keys of callers that were admitted. */
  readonly #admitted = new LruMap<string, true>({ max: maxAdmitted });

  constructor(perMinute: number, clock: Clock) {
    this.#failures = new RateLimit(perMinute, clock, "without a valid key");
  }

  /** Authenticates a caller. Null if its key is invalid. @throws HttpError if too many were. */
  async authenticate<Caller>(
    bearer: string,
    authenticate: (bearer: string) => Promise<Caller | null>,
  ): Promise<Caller | null> {
    const name = hash("sha256", bearer);
    if (!this.#admitted.has(name)) this.#failures.check(everyone);
    const caller = await authenticate(bearer);
    if (caller !== null) {
      this.#admitted.set(name, true);
      return caller;
    }
    this.#admitted.delete(name);
    this.#failures.take(everyone);
    return null;
  }
}

/** Failures are counted together: a caller without a valid key has no name. */
const everyone = "";
