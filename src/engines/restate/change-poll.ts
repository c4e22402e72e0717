import { setTimeout as delay } from "node:timers/promises";
import type { ObjectAddress } from "#kernel";

const firstMs = 10;
const lastMs = 250;
const growth = 1.5;
const keptKeys = 1_000;

/** Restate tells nobody that an object changed: those who wait look again, first often, then less often. */
export class ChangePoll {
  readonly #delays = new Map<string, number>();
  readonly #closing = new AbortController();

  /** Resolves after a moment. @throws the signal's reason. */
  async changed(object: ObjectAddress, signal: AbortSignal): Promise<void> {
    const key = keyOf(object);
    const wait = this.#delays.get(key) ?? firstMs;
    this.#delays.delete(key);
    this.#delays.set(key, Math.min(lastMs, wait * growth));
    this.#forgetOldest();
    const either = AbortSignal.any([signal, this.#closing.signal]);
    await delay(wait, undefined, { signal: either }).catch(() => either.throwIfAborted());
  }

  /** This process has changed the object: others will look soon. */
  reset(object: ObjectAddress): void {
    this.#delays.delete(keyOf(object));
  }

  close(): void {
    this.#closing.abort(new Error("the engine is closed"));
  }

  #forgetOldest(): void {
    for (const key of this.#delays.keys()) {
      if (this.#delays.size <= keptKeys) return;
      this.#delays.delete(key);
    }
  }
}

function keyOf(object: ObjectAddress): string {
  return `${object.type}/${object.key}`;
}
