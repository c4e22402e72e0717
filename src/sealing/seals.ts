import type { Keys } from "#kernel";
import { Seal } from "./seal.ts";

interface Kept {
  readonly seal: Promise<Seal>;
  readonly until: number;
}

/**
 * The seals of all partitions: asks for each key once in a while. Few and not for long, because a key that was
 * destroyed must not live on here.
 */
export class Seals {
  readonly #keys: Keys;
  readonly #kept = new Map<string, Kept>();
  readonly #maxKept: number;
  readonly #keptMs: number;

  constructor(keys: Keys, options: { readonly maxKept?: number; readonly keptMs?: number } = {}) {
    this.#keys = keys;
    this.#maxKept = options.maxKept ?? 1_000;
    this.#keptMs = options.keptMs ?? 30_000;
  }

  /** @throws KeyDestroyedError, or why no key can be had. */
  of(partition: string): Promise<Seal> {
    const known = this.#kept.get(partition);
    if (known && known.until > Date.now()) {
      this.#keep(partition, known);
      return known.seal;
    }
    const seal = this.#keys.of(partition).then((ring) => Seal.of(partition, ring));
    const kept = { seal, until: Date.now() + this.#keptMs };
    this.#keep(partition, kept);
    seal.catch(() => {
      if (this.#kept.get(partition) === kept) this.#kept.delete(partition);
    });
    return seal;
  }

  /** Asks anew for the keys of a partition when it is next asked for. */
  forget(partition: string): void {
    this.#kept.delete(partition);
  }

  /** The one asked for becomes the newest; the oldest are forgotten. */
  #keep(partition: string, kept: Kept): void {
    this.#kept.delete(partition);
    this.#kept.set(partition, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#maxKept) break;
      this.#kept.delete(oldest);
    }
  }
}
