import type { Keys, Sealing } from "#kernel";
import { LruMap } from "#base";
import { AesSeal } from "./seal.ts";

interface CachedSeal {
  readonly seal: Promise<AesSeal>;
  readonly until: number;
}

/** A cache of the seals of all partitions. Small and short-lived, because a destroyed key must not survive here. */
export class Seals implements Sealing {
  readonly #keys: Keys;
  readonly #kept: LruMap<string, CachedSeal>;
  readonly #keyCacheMs: number;

  constructor(keys: Keys, options: { readonly maxKept?: number; readonly keyCacheMs?: number } = {}) {
    this.#keys = keys;
    this.#kept = new LruMap({ max: options.maxKept ?? 1_000 });
    this.#keyCacheMs = options.keyCacheMs ?? 30_000;
  }

  /** Returns the seal of a partition. @throws KeyDestroyedError, or the reason why no key is available. */
  getSeal(partition: string): Promise<AesSeal> {
    const known = this.#kept.get(partition);
    if (known && known.until > Date.now()) return known.seal;
    const seal = this.#keys.getRing(partition).then((ring) => AesSeal.of(partition, ring));
    const kept = { seal, until: Date.now() + this.#keyCacheMs };
    this.#kept.set(partition, kept);
    seal.catch(() => {
      if (this.#kept.get(partition) === kept) this.#kept.delete(partition);
    });
    return seal;
  }

  /** Drops the cached keys of a partition. The next use loads them again. */
  forget(partition: string): void {
    this.#kept.delete(partition);
  }
}
