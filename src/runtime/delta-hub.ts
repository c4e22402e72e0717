import type { AttemptId, ModelDelta, RunId, TreeId } from "#kernel";

/** A piece of an answer, with its place. Not durable: whoever comes late has missed it. */
export interface RunDelta extends ModelDelta {
  readonly runId: RunId;
  /** A new attempt begins the answer anew. */
  readonly attempt: AttemptId;
}

/** Pieces that a watcher may be behind before it is cut off. */
const longestQueue = 10_000;

/** Carries the pieces of answers to those who watch, inside this process. */
export class DeltaHub {
  readonly #watchers = new Map<TreeId, Set<(delta: RunDelta) => void>>();

  /** Does anybody watch this tree? */
  has(tree: TreeId): boolean {
    return this.#watchers.has(tree);
  }

  publish(tree: TreeId, delta: RunDelta): void {
    for (const watcher of this.#watchers.get(tree) ?? []) watcher(delta);
  }

  /** Every piece from now on, until the signal. A watcher that is too slow gets an error, not an endless queue. */
  async *watch(tree: TreeId, signal: AbortSignal): AsyncGenerator<RunDelta, void> {
    let queue: RunDelta[] = [];
    let wake = Promise.withResolvers<void>();
    const receive = (delta: RunDelta): void => {
      queue.push(delta);
      wake.resolve();
    };
    const stop = (): void => wake.resolve();
    const watchers = this.#watchers.get(tree) ?? new Set();
    this.#watchers.set(tree, watchers.add(receive));
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const batch = queue;
        queue = [];
        yield* batch;
        if (queue.length > longestQueue)
          throw new RangeError("too slow: too many pieces of answers are waiting");
        if (queue.length === 0) {
          if (signal.aborted) return;
          await wake.promise;
          wake = Promise.withResolvers();
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      watchers.delete(receive);
      if (watchers.size === 0) this.#watchers.delete(tree);
    }
  }
}
