import type { CacheLimits, Clock, Json } from "#kernel";
import { LruMap } from "#base";

interface CacheEntry {
  readonly text: string;
  readonly until: number;
}

/** A cache in this process. The least recently used values are dropped first. */
export class MemoryCache {
  readonly #entries: LruMap<string, CacheEntry>;

  constructor({ max, maxBytes }: CacheLimits) {
    this.#entries = new LruMap({ max, maxSize: maxBytes, sizeOf });
  }

  get(key: string, clock: Clock): Json | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.until <= clock.now()) {
      this.#entries.delete(key);
      return undefined;
    }
    const value: Json = JSON.parse(entry.text);
    return value;
  }

  put(key: string, { value, until }: { readonly value: Json; readonly until: number }): void {
    this.#entries.set(key, { text: JSON.stringify(value), until });
  }
}

/** Returns an upper bound: JavaScript uses two bytes for a character that is not Latin. */
const sizeOf = ({ text }: CacheEntry): number => text.length * 2;
