import { Partition, type CacheStore, type Json } from "#kernel";

/** How much a cache in this process keeps. */
export interface LruOptions {
  /** Default 1,000. */
  readonly max?: number | undefined;
  /** Of all values together, as JSON. Default 64 MB. */
  readonly maxBytes?: number | undefined;
}

interface Kept {
  readonly text: string;
  readonly until: number;
}

/** A cache in this process: what was not used for longest goes first. */
export class LruCache implements CacheStore {
  readonly #kept = new Map<string, Kept>();
  readonly #max: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor({ max = 1_000, maxBytes = 64_000_000 }: LruOptions = {}) {
    this.#max = max;
    this.#maxBytes = maxBytes;
  }

  async get(partition: Partition, key: string, now: number): Promise<Json | undefined> {
    const place = Partition.part(partition, key);
    const kept = this.#kept.get(place);
    if (!kept) return undefined;
    this.#drop(place, kept);
    if (kept.until <= now) return undefined;
    this.#keep(place, kept);
    const value: Json = JSON.parse(kept.text);
    return value;
  }

  async put(partition: Partition, key: string, value: Json, until: number): Promise<void> {
    const place = Partition.part(partition, key);
    const before = this.#kept.get(place);
    if (before) this.#drop(place, before);
    const text = JSON.stringify(value);
    if (bytesOf(text) > this.#maxBytes) return;
    this.#keep(place, { text, until });
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size <= this.#max && this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest, kept);
    }
  }

  #keep(place: string, kept: Kept): void {
    this.#kept.set(place, kept);
    this.#bytes += bytesOf(kept.text);
  }

  #drop(place: string, kept: Kept): void {
    this.#kept.delete(place);
    this.#bytes -= bytesOf(kept.text);
  }
}

/** At most: JavaScript keeps two bytes for a character that is not Latin. */
const bytesOf = (text: string): number => text.length * 2;
