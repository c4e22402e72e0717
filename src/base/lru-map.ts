/** Limits of an `LruMap`. */
export interface LruMapOptions<Key, Value> {
  /** Maximum number of entries. */
  readonly max: number;
  /** Maximum sum of the sizes of all values. Default: no limit. */
  readonly maxSize?: number;
  /** Returns the size of a value. Must be constant for a value. Default: 0. */
  readonly sizeOf?: (value: Value) => number;
  /** Called with each entry that is dropped to make room. Not called for entries that are deleted or replaced. */
  readonly onEvict?: (key: Key, value: Value) => void;
}

/** A map with a limit. The least recently used entries are dropped first; `get` and `set` count as use, `has` does not. */
export class LruMap<Key, Value extends string | number | boolean | object> {
  /** In order of use, the least recent first: a JavaScript map keeps the order in which keys were added. */
  readonly #entries = new Map<Key, Value>();
  readonly #max: number;
  readonly #maxSize: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #onEvict: ((key: Key, value: Value) => void) | undefined;
  #size = 0;

  constructor({ max, maxSize = Infinity, sizeOf = () => 0, onEvict }: LruMapOptions<Key, Value>) {
    this.#max = max;
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
    this.#onEvict = onEvict;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  getOrCreate(key: Key, create: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const created = create();
    this.set(key, created);
    return created;
  }

  /** Adds or replaces an entry. A value larger than `maxSize` is not stored. */
  set(key: Key, value: Value): void {
    this.delete(key);
    const size = this.#sizeOf(value);
    if (size > this.#maxSize) return;
    this.#entries.set(key, value);
    this.#size += size;
    for (const [oldest, dropped] of this.#entries) {
      if (this.#entries.size <= this.#max && this.#size <= this.#maxSize) return;
      this.delete(oldest);
      this.#onEvict?.(oldest, dropped);
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#size -= this.#sizeOf(value);
  }
}
