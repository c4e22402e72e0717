import type { NumberedEvent } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { partitionOf, type Principal } from "./auth.ts";

const eventsPerRead = 256;
/** Events kept in memory per tree. A reader that is further behind reads the store itself. */
const mostRecent = 64;

/** A subscription to the events of one tree. */
export interface Watch {
  readonly run: RunHandle;
  readonly principal: Principal;
  /** Number of the last event the reader has. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** The events of trees, for many who watch: one reads and waits for all who watch a tree and are up to date. */
export class SharedTails {
  readonly #runtime: Runtime;
  readonly #feeds = new Map<string, Feed>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Events above `after`, then each new one, until the tree is over. @throws the signal's reason. */
  async *events(watch: Watch): AsyncGenerator<NumberedEvent, void> {
    for await (const events of this.batches(watch)) yield* events;
  }

  /** The same, in as few parts as they can be had: at most 256 events in one. @throws the signal's reason. */
  async *batches({
    run,
    principal,
    after: known,
    signal,
  }: Watch): AsyncGenerator<readonly NumberedEvent[], void> {
    const { events: store } = this.#runtime.store;
    const feed = this.#enter(run, principal, known);
    const partition = partitionOf(principal);
    try {
      for (let after = known; ;) {
        signal.throwIfAborted();
        // Read before the store is read, so that no event in between is missed.
        const { told, isOver } = feed;
        const events =
          feed.getAbove(after) ?? (await store.read(partition, run.treeId, { after, limit: eventsPerRead }));
        if (events.length > 0) {
          yield events;
          after = events.at(-1)?.seq ?? after;
          continue;
        }
        if (isOver) return;
        await feed.waitForChange(told, signal);
      }
    } finally {
      this.#leave(feed);
    }
  }

  #enter(run: RunHandle, principal: Principal, after: number): Feed {
    const key = `${principal.tenant ?? ""}/${run.treeId}`;
    const feed = this.#feeds.get(key) ?? new Feed(key, run, after);
    this.#feeds.set(key, feed);
    feed.watchers += 1;
    return feed;
  }

  #leave(feed: Feed): void {
    feed.watchers -= 1;
    if (feed.watchers > 0) return;
    feed.stop();
    this.#feeds.delete(feed.key);
  }
}

/** One tree with at least one subscriber. */
class Feed {
  readonly key: string;
  watchers = 0;
  /** Counts notifications. */
  told = 0;
  isOver = false;
  #error: unknown = null;
  /** The newest events, consecutive, and the number before the first one. */
  #recent: NumberedEvent[] = [];
  #before: number;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();

  constructor(key: string, run: RunHandle, after: number) {
    this.key = key;
    this.#before = after;
    void this.#listen(run, after);
  }

  /** Returns the events above a number. Null if they are no longer in memory. */
  getAbove(after: number): readonly NumberedEvent[] | null {
    return after < this.#before ? null : this.#recent.slice(after - this.#before);
  }

  /** Resolves when there was news since. @throws the signal's reason, and what went wrong with the tree. */
  async waitForChange(told: number, signal: AbortSignal): Promise<void> {
    if (this.told === told) await this.#news(signal);
    signal.throwIfAborted();
    if (this.#error !== null) throw this.#error;
  }

  stop(): void {
    this.#stop.abort(new Error("no subscriber is left"));
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener("abort", go);
        resolve();
      };
      this.#waiting.add(go);
      signal.addEventListener("abort", go, { once: true });
    });
  }

  async #listen(run: RunHandle, from: number): Promise<void> {
    try {
      for await (const event of run.events({ from, signal: this.#stop.signal })) {
        this.#recent.push(event);
        if (this.#recent.length > mostRecent) this.#before = this.#recent.shift()?.seq ?? from;
        this.#tell();
      }
      this.isOver = true;
    } catch (error) {
      this.#error = error;
    }
    this.#tell();
  }

  #tell(): void {
    this.told += 1;
    for (const go of this.#waiting) go();
  }
}
