import { randomUUID } from "node:crypto";
import type { Clock, Store, WorkerRecord, Seal, Sealing } from "#kernel";
import { toError } from "#base";
import { DeltaEndpoint, type DeltaEndpointOptions } from "./delta-endpoint.ts";
import { DeltaHub } from "./delta-hub.ts";
import { DeltaQueue } from "./delta-queue.ts";
import type { RunDelta } from "./run-delta.ts";
import { WorkerStreams } from "./worker-streams.ts";

/*
 * Deltas: the pieces of a model's answer, shown to readers in any process while the answer is being given.
 *
 * Neighbours: a model step begins an answer at the hub of its own process (`delta-hub.ts`). Readers in that process take
 * pieces from the hub. Readers elsewhere find the workers in the store, and each worker serves them over HTTP
 * (`delta-endpoint.ts`, `tree-readers.ts` there; `worker-streams.ts`, `worker-stream.ts` here).
 *
 * 1. Nothing is stored, and nothing depends on a delta: the journal and the events have the whole answer.
 * 2. A reader gets the pieces of one attempt in order and without a gap, or is cut with a `DeltasCutError`. A new attempt
 *    begins with a `reset`.
 * 3. A model step never waits for a reader: what waits for a reader is bounded, then the reader is cut.
 * 4. Every frame is sealed with the key of its tree. A reader proves that it has that key.
 * 5. Without a reader, and where none can come, a piece costs nothing: the model is not even asked to stream.
 */

/** What the channel stands on. */
export interface DeltasHost {
  readonly clock: Clock;
  /** How processes find each other, and what they seal with. Null: there is no other process. */
  readonly others: {
    readonly workers: Store["workers"];
    readonly sealer: (key: string) => Promise<Seal>;
  } | null;
}

const announceMs = 10_000;
/** A worker that was not heard of for so long is not there. */
const forgetMs = 30_000;
/** How old the list of workers may be. */
const listedMs = 500;

/** Pieces of answers, from this process and from the workers of the store. */
export class Deltas {
  readonly hub = new DeltaHub();
  readonly #host: DeltasHost;
  readonly #worker = randomUUID();
  readonly #closed = new AbortController();
  #endpoint: DeltaEndpoint | null = null;
  #listed: { readonly until: number; readonly workers: Promise<readonly WorkerRecord[]> } | null = null;

  constructor(host: DeltasHost) {
    this.#host = host;
  }

  /** Processes find each other in the store; an engine of one process has no others. */
  static othersIn(store: Store | undefined, seals: Sealing | null): DeltasHost["others"] {
    if (!store || !seals) return null;
    return { workers: store.workers, sealer: (key) => seals.of(key) };
  }

  /** Lets other processes watch what executes here: where they find it, and nobody else can read it. */
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
   * The pieces of a tree's answers, until it is over; those that are open now come from their beginning. What `over`
   * throws, it throws.
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
    // What cannot be taken from the list goes from it by itself.
    await this.#host.others?.workers.withdraw(this.#worker).catch(() => undefined);
  }

  #follow(key: string, queue: DeltaQueue): WorkerStreams | null {
    const { others, clock } = this.#host;
    if (!others) return null;
    const workers = async (): Promise<readonly WorkerRecord[]> =>
      (await this.#workers(others.workers)).filter(({ id }) => id !== this.#worker);
    return new WorkerStreams({ clock, workers, sealer: () => others.sealer(key) }, key, queue);
  }

  /** One reading serves all who watch; a store that does not answer is asked again later. */
  async #workers(workers: Store["workers"]): Promise<readonly WorkerRecord[]> {
    const now = this.#host.clock.now();
    if (!this.#listed || this.#listed.until <= now)
      this.#listed = { until: now + listedMs, workers: workers.list(now).catch(() => []) };
    return this.#listed.workers;
  }

  async #announce(workers: Store["workers"], url: string): Promise<void> {
    const at = this.#host.clock.now();
    await workers.announce({ id: this.#worker, url, expiresAt: at + forgetMs }, at);
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
