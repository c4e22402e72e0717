import { rejectOnAbort } from "#base";

/** A semaphore for concurrent calls. Further calls wait in order. */
export class CallPlaces {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs `body` while holding a permit. @throws the signal's reason if it is aborted while waiting. */
  async hold<Value>(signal: AbortSignal, body: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    try {
      return await body();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await rejectOnAbort(promise, signal);
    } catch (error) {
      const place = this.#waiting.indexOf(resolve);
      // A place that was given at the same moment goes to the next one.
      if (place === -1) (this.#waiting.shift() ?? (() => (this.#free += 1)))();
      else this.#waiting.splice(place, 1);
      throw error;
    }
  }
}
