import { Partition, type TreeId } from "#kernel";

/** A tree of any tenant, or all trees of a tenant. No key of a tree holds a slash. */
type ChangeKey = string;

/** Returns the key of all trees of a tenant. */
const tenantKey = (partition: Partition): ChangeKey => `${Partition.key(partition)}/`;

/** A reader that waits for a tree or a tenant to change. */
export interface ChangeSubscription {
  /** Resolves at the next sign after this call. Never rejects. */
  readonly next: () => Promise<void>;
  readonly close: () => void;
}

/**
 * Notifies waiting readers that a tree may have changed. A spurious notification is harmless: readers check the store.
 */
export class ChangeNotifier {
  readonly #subscriptions = new Map<ChangeKey, Set<() => void>>();
  readonly #watch: () => () => void;
  #stop: (() => void) | null = null;
  #closed = false;

  /** `watch` starts watching for external changes while there is a subscriber. It returns a function that stops it. */
  constructor(watch: () => () => void) {
    this.#watch = watch;
  }

  listen(tree: TreeId): ChangeSubscription {
    return this.#listen(tree);
  }

  /** Subscribes to every tree of a tenant. */
  listenToAll(partition: Partition): ChangeSubscription {
    return this.#listen(tenantKey(partition));
  }

  ring(partition: Partition, tree: TreeId): void {
    this.#ring(tree);
    this.#ring(tenantKey(partition));
  }

  ringAll(): void {
    for (const key of this.#subscriptions.keys()) this.#ring(key);
  }

  /** Ends all subscriptions: waiting readers find the store closed. */
  close(): void {
    this.#stop?.();
    this.#closed = true;
    this.ringAll();
  }

  #listen(key: ChangeKey): ChangeSubscription {
    let sign = Promise.withResolvers<void>();
    const hear = (): void => {
      sign.resolve();
      sign = Promise.withResolvers<void>();
    };
    const ears = this.#subscriptions.get(key) ?? new Set();
    this.#subscriptions.set(key, ears.add(hear));
    if (!this.#closed) this.#stop ??= this.#watch();
    return { next: () => sign.promise, close: () => this.#leave(key, hear) };
  }

  #ring(key: ChangeKey): void {
    for (const hear of this.#subscriptions.get(key) ?? []) hear();
  }

  #leave(key: ChangeKey, hear: () => void): void {
    hear();
    const ears = this.#subscriptions.get(key);
    ears?.delete(hear);
    if (ears?.size === 0) this.#subscriptions.delete(key);
    if (this.#subscriptions.size > 0 || this.#closed) return;
    this.#stop?.();
    this.#stop = null;
  }
}
