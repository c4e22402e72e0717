import { rejectOnAbort } from "#base";

/** Places for calls that are made at the same time. Further calls wait in order. */
export class CallPlaces {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Does something in a place of its own. @throws what the signal was aborted with while it waited. */
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
