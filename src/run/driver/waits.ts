import type { Json, RunId } from "#kernel";

/** The end of a wait: a value that arrived under a key, or the timeout. */
export type Arrival =
  | { readonly key: string; readonly value: Json }
  | { readonly key: "timeout"; readonly value: null };

interface Waiter {
  readonly keys: readonly string[];
  readonly at: number | null;
  readonly on: RunId | null;
  readonly resolve: (arrival: Arrival) => void;
  readonly reject: (error: Error) => void;
}

/** Options of a wait. */
export interface WaitOptions {
  /** Time of the timeout. Default: never. */
  readonly at?: number | null;
  /** The run that is waited for. Null: none. */
  readonly on?: RunId | null;
}

/**
 * The waits of a run that are not effects. Values arrive under a key; a value without a waiter is kept. Waits are free
 * for the engine, in any number.
 */
export class Waits {
  readonly #waiters = new Set<Waiter>();
  readonly #byKey = new Map<string, Waiter[]>();
  readonly #kept = new Map<string, Json[]>();
  readonly #dead = new Set<string>();
  /** Set once no wait can end any more. */
  #refuse: (() => Promise<never>) | null = null;

  /** Waits for the first value under any of these keys. */
  first(keys: readonly string[], { at = null, on = null }: WaitOptions = {}): Promise<Arrival> {
    if (this.#refuse) return this.#refuse();
    for (const key of keys) {
      const kept = this.#kept.get(key);
      if (kept && kept.length > 0) {
        const value = kept.shift() ?? null;
        if (kept.length === 0) this.#kept.delete(key);
        return Promise.resolve({ key, value });
      }
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { keys, at, on, resolve, reject };
      this.#waiters.add(waiter);
      for (const key of keys) this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), waiter]);
    });
  }

  /** Settles the oldest wait for this key, or keeps the value. */
  arrive(key: string, value: Json): void {
    if (this.#dead.has(key)) return;
    const waiter = this.#byKey.get(key)?.[0];
    if (waiter) this.#settle(waiter, { key, value });
    else {
      const kept = this.#kept.get(key);
      if (kept) kept.push(value);
      else this.#kept.set(key, [value]);
    }
  }

  /** Settles every wait for this key, and keeps nothing. */
  tell(key: string, value: Json): void {
    for (const waiter of this.#byKey.get(key) ?? []) this.#settle(waiter, { key, value });
  }

  /** Whether every value that has arrived was taken. */
  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /** Whether a value has arrived under this key that was not taken. */
  peek(key: string): boolean {
    return this.#kept.has(key);
  }

  /** Discards all values that arrive under this key from now on. */
  close(key: string): void {
    this.#dead.add(key);
    this.#kept.delete(key);
  }

  /** The earliest timeout of all waits. */
  get earliest(): number | null {
    let earliest: number | null = null;
    for (const { at } of this.#waiters) if (at !== null && at < (earliest ?? Infinity)) earliest = at;
    return earliest;
  }

  /** Settles one wait whose time has come. Returns false if there is none. */
  expireOne(now: number): boolean {
    for (const waiter of this.#waiters) {
      if (waiter.at === null || waiter.at > now) continue;
      this.#settle(waiter, { key: "timeout", value: null });
      return true;
    }
    return false;
  }

  /** Returns the values that arrived under keys with this prefix and were not taken, oldest first for each key. */
  listKept(prefix: string): readonly Arrival[] {
    const keys = [...this.#kept.keys()].filter((key) => key.startsWith(prefix));
    return keys.flatMap((key) => (this.#kept.get(key) ?? []).map((value) => ({ key, value })));
  }

  /** Fails every wait with this error. Refuses every later one. */
  failAll(error: Error, refuse: () => Promise<never>): void {
    this.#refuse = refuse;
    for (const waiter of this.#waiters) {
      this.#forget(waiter);
      waiter.reject(error);
    }
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** The runs that are waited for. Null if anything else is, too. */
  get on(): readonly RunId[] | null {
    const runs: RunId[] = [];
    for (const { on } of this.#waiters) {
      if (on === null) return null;
      runs.push(on);
    }
    return runs.length > 0 ? runs : null;
  }

  #settle(waiter: Waiter, arrival: Arrival): void {
    this.#forget(waiter);
    waiter.resolve(arrival);
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    for (const key of waiter.keys) {
      const others = (this.#byKey.get(key) ?? []).filter((other) => other !== waiter);
      if (others.length > 0) this.#byKey.set(key, others);
      else this.#byKey.delete(key);
    }
  }
}
