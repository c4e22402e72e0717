import { type ApprovalId, type Clock, Partition, type RunId, type RunRecord } from "#kernel";
import type { Runtime } from "#runtime";
import { partitionOf, type Principal, whose } from "../auth.ts";
import { addAsks, type ListedRun, listPending } from "../pending.ts";
import { listedUser } from "../users.ts";

/*
 * The trees of a tenant that changed, for every live stream of that tenant. Neighbours: the store notifies that
 * something of the tenant changed (`EventStore.changes`), without details. Live streams send the changes found here.
 * 1. One reader serves all streams of a tenant. It reads at most once in 250 ms, and only while there is a stream.
 * 2. It compares with its last state: the newest roots, and all live ones it has seen. A record is reported if it
 * includes more events, or if its number of calls waiting for approval changed.
 * 3. A stream that does not read keeps only the newest record of each run.
 */

const mergeMs = 250;
const newestRoots = 200;
const maxLive = 1_000;

/** Calls that wait for approval. */
interface WaitingChanges {
  /** At most 1,000. */
  readonly count: number;
  readonly newest: ApprovalId | null;
}

/** Records that changed, and the calls that wait. Null: as they were. */
export interface RunChanges {
  readonly runs: readonly ListedRun[];
  readonly waiting: WaitingChanges | null;
}

/** The changes that one stream has not read yet. */
interface Reader {
  readonly runs: Map<RunId, ListedRun>;
  waiting: WaitingChanges | null;
  wake: () => void;
}

/** The changes of all tenants that are watched. */
export class RunChangeFeeds {
  readonly #host: { readonly runtime: Runtime; readonly clock: Clock };
  readonly #feeds = new Map<string, Feed>();

  constructor(host: { readonly runtime: Runtime; readonly clock: Clock }) {
    this.#host = host;
  }

  /**
   * Returns the changes from now on. Lists read after this call include all earlier changes. The first item reports the
   * calls that wait for approval. @throws the signal's reason, or the store's error
   */
  async open(principal: Principal, signal: AbortSignal): Promise<AsyncGenerator<RunChanges, void>> {
    const key = `${Partition.key(partitionOf(principal))}/${principal.user ?? ""}`;
    const feed = this.#feeds.get(key) ?? new Feed(this.#host, principal);
    this.#feeds.set(key, feed);
    const reader = feed.enter();
    signal.addEventListener("abort", () => {
      if (feed.leave(reader) && this.#feeds.get(key) === feed) this.#feeds.delete(key);
    });
    await feed.begun;
    return feed.read(reader, signal);
  }
}

/** Returns a text that differs between two states of a record. */
const markOf = ({ seq, asks }: ListedRun): string => `${seq} ${asks}`;

class Feed {
  readonly #host: { readonly runtime: Runtime; readonly clock: Clock };
  readonly #principal: Principal;
  readonly #readers = new Set<Reader>();
  readonly #stop = new AbortController();
  /** The last state that was seen of each run, and whether it is live. */
  #known = new Map<RunId, { readonly mark: string; readonly isLive: boolean }>();
  #waiting: WaitingChanges = { count: 0, newest: null };
  #error: unknown = null;
  readonly begun: Promise<void>;

  constructor(host: { readonly runtime: Runtime; readonly clock: Clock }, principal: Principal) {
    this.#host = host;
    this.#principal = principal;
    const begun = Promise.withResolvers<void>();
    this.begun = begun.promise;
    void this.#follow(begun.resolve);
  }

  enter(): Reader {
    const reader: Reader = { runs: new Map(), waiting: null, wake: () => undefined };
    this.#readers.add(reader);
    return reader;
  }

  /** Removes a reader. Returns whether it was the last one, which ends the subscription to the store. */
  leave(reader: Reader): boolean {
    this.#readers.delete(reader);
    reader.wake();
    if (this.#readers.size > 0) return false;
    this.#stop.abort(new Error("no subscriber is left"));
    return true;
  }

  async *read(reader: Reader, signal: AbortSignal): AsyncGenerator<RunChanges, void> {
    reader.waiting = this.#waiting;
    for (;;) {
      signal.throwIfAborted();
      if (this.#error !== null) throw this.#error;
      if (reader.runs.size > 0 || reader.waiting) {
        const { waiting } = reader;
        const runs = [...reader.runs.values()].slice(0, newestRoots);
        for (const { runId } of runs) reader.runs.delete(runId);
        reader.waiting = null;
        yield { runs, waiting };
        continue;
      }
      await new Promise<void>((resolve) => (reader.wake = resolve));
    }
  }

  async #follow(begin: () => void): Promise<void> {
    const { clock, runtime } = this.#host;
    const { signal } = this.#stop;
    try {
      const changes = runtime.store.events.changes(partitionOf(this.#principal), { signal });
      let isFirst = true;
      for await (const _ of changes) {
        const { runs, waiting } = await this.#look(isFirst);
        if (!isFirst) this.#tell(runs, waiting);
        this.#waiting = waiting;
        isFirst = false;
        begin();
        await clock.waitUntil(clock.now() + mergeMs, signal);
      }
    } catch (error) {
      this.#error = error;
      for (const { wake } of this.#readers) wake();
    }
    begin();
  }

  #tell(runs: readonly ListedRun[], waiting: WaitingChanges): void {
    const { count, newest } = this.#waiting;
    const isSame = waiting.count === count && waiting.newest === newest;
    for (const reader of this.#readers) {
      for (const run of runs) reader.runs.set(run.runId, run);
      if (!isSame) reader.waiting = waiting;
      reader.wake();
    }
  }

  async #look(
    isFirst: boolean,
  ): Promise<{ readonly runs: readonly ListedRun[]; readonly waiting: WaitingChanges }> {
    const { runtime } = this.#host;
    const pending = await listPending(runtime, this.#principal);
    const roots = addAsks(await this.#roots(isFirst), pending);
    const changed = roots.filter((run) => this.#known.get(run.runId)?.mark !== markOf(run));
    this.#known = new Map(
      roots.map((run) => [run.runId, { mark: markOf(run), isLive: run.endedAt === null }]),
    );
    return { runs: changed, waiting: { count: pending.length, newest: pending[0]?.id ?? null } };
  }

  /** Returns the newest roots and the roots that were live at the last read. */
  async #roots(isFirst: boolean): Promise<readonly RunRecord[]> {
    const { runs } = this.#host.runtime;
    const user = listedUser(this.#principal, undefined);
    const theirs = {
      ...whose(this.#principal),
      rootsOnly: true,
      ...(user !== undefined && { userId: user }),
    };
    const { items } = await runs.list(theirs, { size: newestRoots });
    const listed = new Set(items.map(({ runId }) => runId));
    const older = [...this.#known].filter(([run, { isLive }]) => isLive && !listed.has(run));
    const runIds = older.slice(0, maxLive).map(([run]) => run);
    const more = isFirst
      ? await runs.list({ ...theirs, status: ["running", "waiting", "paused", "pending"] }, { size: maxLive })
      : await runs.list({ ...theirs, runIds }, { size: maxLive });
    return [...items, ...more.items.filter(({ runId }) => !listed.has(runId))];
  }
}
