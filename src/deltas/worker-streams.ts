import type { Clock, WorkerRecord, Seal } from "#kernel";
import { toError, withTimeout } from "#base";
import type { DeltaQueue } from "./delta-queue.ts";
import { WorkerStream } from "./worker-stream.ts";

/** The dependencies of a subscriber to one tree. */
export interface StreamsDeps {
  readonly clock: Clock;
  /** Returns the live workers. */
  readonly workers: () => Promise<readonly WorkerRecord[]>;
  readonly sealer: () => Promise<Seal>;
}

/** Interval between two searches for new workers. */
const pollIntervalMs = 1_000;
/** Maximum time for the remaining pieces once a tree has ended. */
const restMs = 2_000;

/** Subscribes to every worker, including new ones, because the runs of a tree may execute on any of them. */
export class WorkerStreams {
  readonly #host: StreamsDeps;
  readonly #key: string;
  readonly #queue: DeltaQueue;
  readonly #streams = new Map<string, WorkerStream>();
  readonly #over = new AbortController();

  constructor(host: StreamsDeps, key: string, queue: DeltaQueue) {
    this.#host = host;
    this.#key = key;
    this.#queue = queue;
    queue.over.addEventListener("abort", () => this.#close(), { once: true });
    this.#follow().catch((error: unknown) => queue.fail(toError(error)));
  }

  /**
   * Ends the subscriptions of an ended tree. Resolves when each worker has sent its remaining pieces, or its time is
   * up.
   */
  async rest(): Promise<void> {
    this.#over.abort();
    const streams = [...this.#streams.values()];
    for (const stream of streams) stream.finish();
    const { clock } = this.#host;
    const closed = Promise.all(streams.map((stream) => stream.closed));
    const limits = { clock, ms: restMs, onTimeout: () => [], signal: this.#queue.over };
    await withTimeout(limits, () => closed).catch(() => undefined);
  }

  #close(): void {
    this.#over.abort();
    for (const stream of this.#streams.values()) stream.destroy();
  }

  async #follow(): Promise<void> {
    const { clock } = this.#host;
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#listen();
      await clock.waitUntil(clock.now() + pollIntervalMs, signal).catch(() => undefined);
    }
  }

  async #listen(): Promise<void> {
    const { clock, workers, sealer } = this.#host;
    const unheard = (await workers()).filter(({ id }) => !this.#streams.has(id));
    if (unheard.length === 0) return;
    const own = await sealer();
    if (this.#over.signal.aborted) return;
    for (const worker of unheard) {
      const question = { worker, key: this.#key, sealer: own, at: clock.now() };
      const stream = new WorkerStream(question, this.#queue);
      this.#streams.set(worker.id, stream);
      void stream.closed.then(() => this.#streams.delete(worker.id));
    }
  }
}
