import { Partition, type TreeId } from "#kernel";

/** A tree of any tenant, or all trees of a tenant. No key of a tree holds a slash. */
type BellKey = string;

/** Returns the key of all trees of a tenant. */
const tenantKey = (partition: Partition): BellKey => `${Partition.key(partition)}/`;

/** A reader that waits for a tree or a tenant to change. */
export interface Ear {
  /** Resolves at the next sign after this call. Never rejects. */
  readonly next: () => Promise<void>;
  readonly close: () => void;
}

/**
 * Notifies waiting readers that a tree may have changed. A spurious notification is harmless: readers check the store.
 */
export class Bell {
  readonly #ears = new Map<BellKey, Set<() => void>>();
  readonly #watch: () => () => void;
  #stop: (() => void) | null = null;
  #closed = false;

  /** `watch` starts watching for external changes while there is a subscriber. It returns a function that stops it. */
  constructor(watch: () => () => void) {
    this.#watch = watch;
  }

  listen(tree: TreeId): Ear {
    return this.#listen(tree);
  }

  /** Subscribes to every tree of a tenant. */
  listenToAll(partition: Partition): Ear {
    return this.#listen(tenantKey(partition));
  }

  ring(partition: Partition, tree: TreeId): void {
    this.#ring(tree);
    this.#ring(tenantKey(partition));
  }

  ringAll(): void {
    for (const key of this.#ears.keys()) this.#ring(key);
  }

  /** Ends all subscriptions: waiting readers find the store closed. */
  close(): void {
    this.#stop?.();
    this.#closed = true;
    this.ringAll();
  }

  #listen(key: BellKey): Ear {
    let sign = Promise.withResolvers<void>();
    const hear = (): void => {
      sign.resolve();
      sign = Promise.withResolvers<void>();
    };
    const ears = this.#ears.get(key) ?? new Set();
    this.#ears.set(key, ears.add(hear));
    if (!this.#closed) this.#stop ??= this.#watch();
    return { next: () => sign.promise, close: () => this.#leave(key, hear) };
  }

  #ring(key: BellKey): void {
    for (const hear of this.#ears.get(key) ?? []) hear();
  }

  #leave(key: BellKey, hear: () => void): void {
    hear();
    const ears = this.#ears.get(key);
    ears?.delete(hear);
    if (ears?.size === 0) this.#ears.delete(key);
    if (this.#ears.size > 0 || this.#closed) return;
    this.#stop?.();
    this.#stop = null;
  }
}
