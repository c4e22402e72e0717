import { randomUUID } from "node:crypto";
import type { Clock, Store, WorkerRecord } from "#kernel";
import type { Seal } from "#sealing";
import { DeltaEndpoint, type DeltaEndpointOptions } from "./delta-endpoint.ts";
import { DeltaHub } from "./delta-hub.ts";
import { DeltaQueue } from "./delta-queue.ts";
import type { RunDelta } from "./run-delta.ts";
import { WorkerStreams } from "./worker-streams.ts";

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
        (error: unknown) => queue.fail(error instanceof Error ? error : new Error(String(error))),
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
