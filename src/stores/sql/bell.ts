import type { TreeId } from "#kernel";

/** Somebody who waits for a tree to change. */
export interface Ear {
  /** Resolves at the next sign after this call. Never rejects. */
  readonly next: () => Promise<void>;
  readonly close: () => void;
}

/** Tells those who wait that a tree may have changed. A sign too many does no harm: whoever hears it looks. */
export class Bell {
  readonly #ears = new Map<TreeId, Set<() => void>>();
  readonly #watch: () => () => void;
  #stop: (() => void) | null = null;
  #closed = false;

  /** `watch` begins to look for changes from outside while somebody listens, and returns how to end it. */
  constructor(watch: () => () => void) {
    this.#watch = watch;
  }

  listen(tree: TreeId): Ear {
    let sign = Promise.withResolvers<void>();
    const hear = (): void => {
      sign.resolve();
      sign = Promise.withResolvers<void>();
    };
    const ears = this.#ears.get(tree) ?? new Set();
    this.#ears.set(tree, ears.add(hear));
    if (!this.#closed) this.#stop ??= this.#watch();
    return { next: () => sign.promise, close: () => this.#leave(tree, hear) };
  }

  ring(tree: TreeId): void {
    for (const hear of this.#ears.get(tree) ?? []) hear();
  }

  ringAll(): void {
    for (const tree of this.#ears.keys()) this.ring(tree);
  }

  /** Nobody looks any longer: those who wait find the store closed. */
  close(): void {
    this.#stop?.();
    this.#closed = true;
    this.ringAll();
  }

  #leave(tree: TreeId, hear: () => void): void {
    hear();
    const ears = this.#ears.get(tree);
    ears?.delete(hear);
    if (ears?.size === 0) this.#ears.delete(tree);
    if (this.#ears.size > 0 || this.#closed) return;
    this.#stop?.();
    this.#stop = null;
  }
}
