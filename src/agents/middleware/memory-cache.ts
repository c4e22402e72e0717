import { Partition, type CacheStore, type Json } from "#kernel";
import { LruMap } from "#base";

/** Limits of a cache in this process. */
export interface MemoryCacheOptions {
  /** Default 1,000. */
  readonly max?: number | undefined;
  /** The bytes of all values together, as JSON. Default 64 MB. */
  readonly maxBytes?: number | undefined;
}

interface CacheEntry {
  readonly text: string;
  readonly until: number;
}

/** A cache in this process. The least recently used values are dropped first. */
export class MemoryCache implements CacheStore {
  readonly #entries: LruMap<string, CacheEntry>;

  constructor({ max = 1_000, maxBytes = 64_000_000 }: MemoryCacheOptions = {}) {
    this.#entries = new LruMap({ max, maxSize: maxBytes, sizeOf });
  }

  async get(partition: Partition, key: string, now: number): Promise<Json | undefined> {
    const place = Partition.part(partition, key);
    const entry = this.#entries.get(place);
    if (!entry) return undefined;
    if (entry.until <= now) {
      this.#entries.delete(place);
      return undefined;
    }
    const value: Json = JSON.parse(entry.text);
    return value;
  }

  async put(
    partition: Partition,
    key: string,
    { value, until }: { readonly value: Json; readonly until: number },
  ): Promise<void> {
    this.#entries.set(Partition.part(partition, key), { text: JSON.stringify(value), until });
  }
}

/** At most: JavaScript keeps two bytes for a character that is not Latin. */
const sizeOf = ({ text }: CacheEntry): number => text.length * 2;
