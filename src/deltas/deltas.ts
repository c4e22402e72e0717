import { randomUUID } from "node:crypto";
import type { Clock, Store, StoreHealth, WorkerRecord, Seal, Sealing } from "#kernel";
import { toError } from "#base";
import { DeltaEndpoint, type DeltaEndpointOptions } from "./delta-endpoint.ts";
import { DeltaHub } from "./delta-hub.ts";
import { DeltaQueue } from "./delta-queue.ts";
import type { RunDelta } from "./run-delta.ts";
import { WorkerStreams } from "./worker-streams.ts";

/*
 * Deltas: the pieces of a model's answer, streamed to subscribers in any process while the answer is generated.
 *
 * Neighbours: a model step begins an answer at the hub of its own process (`delta-hub.ts`). Subscribers in that process
 * take pieces from the hub. Subscribers elsewhere find the workers in the store, and each worker serves them over HTTP
 * (worker side: `delta-endpoint.ts`, `tree-readers.ts`; subscriber side: `worker-streams.ts`, `worker-stream.ts`).
 *
 * 1. Nothing is stored, and nothing depends on a delta: the journal and the events have the whole answer.
 * 2. A subscriber gets the pieces of one attempt in order and without a gap, or is cut off with a `DeltasCutError`. A
 *    new attempt begins with a `reset`.
 * 3. A model step never waits for a subscriber: the queue of a subscriber is bounded, then the subscriber is cut off.
 * 4. Every frame is sealed with the key of its tree. A subscriber proves that it has that key.
 * 5. If no subscriber exists or can come, a piece costs nothing: the model is not even asked to stream.
 */

/** The dependencies of {@link Deltas}. */
export interface DeltasDeps {
  readonly clock: Clock;
  /** Returns the state of the writes of this process to the store. */
  readonly health: () => StoreHealth;
  /** The list of workers, and the seals. Null: there are no other processes. */
  readonly others: {
    readonly workers: Store["workers"];
    readonly sealer: (key: string) => Promise<Seal>;
  } | null;
}

const announceMs = 10_000;
/** Time without a heartbeat after which a worker counts as gone. */
const forgetMs = 30_000;
/** Maximum age of the list of workers. */
const listedMs = 500;

/** Live text, from this process and from the workers in the store. */
export class Deltas {
  readonly hub = new DeltaHub();
  readonly #host: DeltasDeps;
  readonly #worker = randomUUID();
  readonly #closed = new AbortController();
  #endpoint: DeltaEndpoint | null = null;
  #listed: { readonly until: number; readonly workers: Promise<readonly WorkerRecord[]> } | null = null;

  constructor(host: DeltasDeps) {
    this.#host = host;
  }

  /** Returns the access to other processes through the store. Null for an engine of one process. */
  static othersIn(store: Store | undefined, seals: Sealing | null): DeltasDeps["others"] {
    if (!store || !seals) return null;
    return { workers: store.workers, sealer: (key) => seals.getSeal(key) };
  }

  /**
   * Serves this process's live text to other processes, and lists it in the store. Only holders of the key can read it.
   */
  async serve(options: DeltaEndpointOptions): Promise<void> {
    const { others, clock } = this.#host;
    if (!others) return;
    const { hub } = this;
    const worker = this.#worker;
    this.#endpoint = await DeltaEndpoint.listen({ hub, clock, worker, sealer: others.sealer }, options);
    hub.isOpen = true;
    await this.#announce(others.workers, this.#endpoint.url);
    void this.#stayListed(others.workers, this.#endpoint.url);
  }

  /**
   * Yields the pieces of a tree's answers, until it has ended. Open answers start from their beginning. @throws the
   * error of `over`.
   */
  async *watch(key: string, over: () => Promise<unknown>): AsyncGenerator<RunDelta, void> {
    const queue = new DeltaQueue();
    const unwatch = this.hub.watch(key, (delta) => queue.push(delta));
    queue.over.addEventListener("abort", unwatch, { once: true });
    this.#closed.signal.addEventListener("abort", () => queue.end(), { signal: queue.over });
    for (const piece of this.hub.soFar(key)) queue.push(piece);
    const streams = this.#follow(key, queue);
    over()
      .then(() => streams?.rest())
      .then(
        () => queue.end(),
        (error: unknown) => queue.fail(toError(error)),
      );
    yield* queue.read();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.hub.isOpen = false;
    if (!this.#endpoint) return;
    await this.#endpoint.close();
    this.#endpoint = null;
    // An entry that cannot be removed from the list expires.
    await this.#host.others?.workers.withdraw(this.#worker).catch(() => undefined);
  }

  #follow(key: string, queue: DeltaQueue): WorkerStreams | null {
    const { others, clock } = this.#host;
    if (!others) return null;
    const workers = async (): Promise<readonly WorkerRecord[]> =>
      (await this.#workers(others.workers)).filter(({ id }) => id !== this.#worker);
    return new WorkerStreams({ clock, workers, sealer: () => others.sealer(key) }, key, queue);
  }

  /** Returns the workers. One read serves all subscribers. A store that does not answer is read again later. */
  async #workers(workers: Store["workers"]): Promise<readonly WorkerRecord[]> {
    const now = this.#host.clock.now();
    if (!this.#listed || this.#listed.until <= now)
      this.#listed = { until: now + listedMs, workers: workers.list(now).catch(() => []) };
    return this.#listed.workers;
  }

  async #announce(workers: Store["workers"], url: string): Promise<void> {
    const at = this.#host.clock.now();
    const health = this.#host.health();
    await workers.announce({ id: this.#worker, url, expiresAt: at + forgetMs, ...health }, at);
  }

  async #stayListed(workers: Store["workers"], url: string): Promise<void> {
    const { clock } = this.#host;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await clock.waitUntil(clock.now() + announceMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.#announce(workers, url).catch(() => undefined);
    }
  }
}
