import { randomUUID } from "node:crypto";
import { type Clock, NotFoundError, type NumberedEvent, type RunId, type TreeId } from "#kernel";
import type { RunDelta, RunHandle, Runtime } from "#runtime";
import { mayReadEntries, type Principal } from "../auth.ts";
import { frame } from "../event-stream.ts";
import type { SharedTails } from "../shared-tails.ts";
import { eventViewOf, showEvent, type EventView } from "../withhold.ts";
import { OpenStreams } from "./open-streams.ts";
import { type RunChanges, RunChangeFeeds } from "./run-changes.ts";
import { runPieces } from "./run-pieces.ts";

/*
 * Live streams: one connection with everything that a browser shows. Neighbours: the routes check that the caller may
 * see a tree before it is watched here. `SharedTails` reads the events of a tree once for all subscribers, `RunChangeFeeds`
 * the lists of a tenant.
 * 1. Events of one tree arrive in order and without a gap. The `id` of a message names every watched tree and the last
 * event sent of it, so a reader that reconnects with it misses nothing.
 * 2. A cursor moves when its events are sent, not when they are read from the store.
 * 3. Only the holder of the key that opened the stream can change what is watched.
 */

/** A tree, and the number of the last of its events that the reader has. */
export interface WatchedTree {
  readonly run: RunHandle;
  readonly after: number;
}

type Item =
  | { readonly changes: RunChanges }
  | { readonly tree: TreeId; readonly events: readonly NumberedEvent[] }
  | { readonly over: TreeId }
  | { readonly pieces: readonly RunDelta[] }
  /** The trees that are watched have changed: the reader needs the new cursors. */
  | { readonly watching: true };

interface LiveDeps {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly feeds: SharedTails;
}

/** The live streams that are open, by their ids. */
export class LiveStreams {
  readonly #host: LiveDeps;
  readonly #changes: RunChangeFeeds;
  readonly #open = new Map<string, LiveStream>();

  constructor(host: LiveDeps) {
    this.#host = host;
    this.#changes = new RunChangeFeeds(host);
  }

  /** Opens a stream, which is closed with the signal. */
  async open(principal: Principal, signal: AbortSignal): Promise<LiveStream> {
    const changes = await this.#changes.open(principal, signal);
    const stream = new LiveStream(this.#host, principal, { changes, signal });
    this.#open.set(stream.id, stream);
    signal.addEventListener("abort", () => this.#open.delete(stream.id));
    return stream;
  }

  /** Returns an open stream of the caller. @throws NotFoundError also if it is of another key, tenant or user. */
  find(id: string, { id: key, tenant, user }: Principal): LiveStream {
    const stream = this.#open.get(id);
    const holder = stream?.principal;
    if (!stream || holder?.id !== key || holder.tenant !== tenant || holder.user !== user)
      throw new NotFoundError({ what: "live stream", id });
    return stream;
  }
}

/** One open stream. */
export class LiveStream {
  readonly id = randomUUID();
  readonly principal: Principal;
  readonly #host: LiveDeps;
  readonly #signal: AbortSignal;
  readonly #streams = new OpenStreams<Item>();
  readonly #trees = new Map<TreeId, { after: number; readonly stop: AbortController }>();
  readonly #pieces = new Map<RunId, AbortController>();

  constructor(
    host: LiveDeps,
    principal: Principal,
    { changes, signal }: { readonly changes: AsyncGenerator<RunChanges, void>; readonly signal: AbortSignal },
  ) {
    this.#host = host;
    this.principal = principal;
    this.#signal = signal;
    this.#streams.add(toItems(changes), signal);
    signal.addEventListener("abort", () => {
      this.watchTrees([]);
      this.watchPieces([]);
    });
  }

  /** Replaces the set of watched trees. A tree that is already watched continues at its position. */
  watchTrees(wanted: readonly WatchedTree[]): void {
    const ids = new Set(wanted.map(({ run }) => run.treeId));
    for (const [tree, { stop }] of this.#trees) {
      if (ids.has(tree)) continue;
      this.#trees.delete(tree);
      stop.abort(new Error("no longer watched"));
    }
    for (const { run, after } of wanted) if (!this.#trees.has(run.treeId)) this.#watch(run, after);
    this.#streams.put({ watching: true });
  }

  /** Replaces the set of runs whose answers are streamed in pieces. None for callers that may not read content. */
  watchPieces(named: readonly RunHandle[]): void {
    const wanted = mayReadEntries(this.principal) ? named : [];
    const { clock } = this.#host;
    const ids = new Set(wanted.map(({ runId }) => runId));
    for (const [run, stop] of this.#pieces) {
      if (ids.has(run)) continue;
      this.#pieces.delete(run);
      stop.abort(new Error("no longer watched"));
    }
    for (const run of wanted) {
      if (this.#pieces.has(run.runId)) continue;
      const stop = new AbortController();
      this.#pieces.set(run.runId, stop);
      const pieces = runPieces(run, { clock, signal: stop.signal });
      this.#streams.add(toPieces(pieces), stop.signal);
    }
  }

  /** Yields the messages of the stream. */
  async *frames(): AsyncGenerator<string, void> {
    yield frame(JSON.stringify({ id: this.id, trees: [...this.#trees.keys()] }), { event: "opened" });
    for await (const item of this.#streams.read(this.#signal)) yield* this.#framesOf(item);
  }

  *#framesOf(item: Item): Generator<string, void> {
    if ("changes" in item) {
      const { runs, waiting } = item.changes;
      if (runs.length > 0) yield frame(JSON.stringify({ items: runs }), { event: "runs" });
      if (waiting) yield frame(JSON.stringify(waiting), { event: "approvals" });
    } else if ("events" in item) {
      const { tree, events } = item;
      const watched = this.#trees.get(tree);
      if (!watched) return;
      watched.after = events.at(-1)?.seq ?? watched.after;
      yield frame(JSON.stringify({ tree, events }), { event: "tree", id: this.#cursors() });
    } else if ("over" in item) {
      this.#trees.delete(item.over);
      yield frame(JSON.stringify({ tree: item.over }), { event: "end", id: this.#cursors() });
    } else if ("pieces" in item) {
      yield frame(JSON.stringify({ items: item.pieces }), { event: "delta" });
    } else {
      const trees = [...this.#trees.keys()];
      yield frame(JSON.stringify({ trees }), { event: "watching", id: this.#cursors() });
    }
  }

  #watch(run: RunHandle, after: number): void {
    const stop = new AbortController();
    this.#trees.set(run.treeId, { after, stop });
    const { principal } = this;
    const batches = this.#host.feeds.batches({ run, principal, after, signal: stop.signal });
    this.#streams.add(toEvents(run.treeId, batches, eventViewOf(principal)), stop.signal);
  }

  /** The last event that was sent of each tree. */
  #cursors(): string {
    return formatCursors(new Map([...this.#trees].map(([tree, { after }]) => [tree, after])));
  }
}

/** Writes cursors as `Last-Event-ID` has them. A name of a tree may hold any character. */
function formatCursors(cursors: ReadonlyMap<TreeId, number>): string {
  return [...cursors].map(([tree, after]) => `${encodeURIComponent(tree)}:${after}`).join();
}

async function* toItems(changes: AsyncGenerator<RunChanges, void>): AsyncGenerator<Item, void> {
  for await (const each of changes) yield { changes: each };
}

async function* toPieces(pieces: AsyncGenerator<readonly RunDelta[], void>): AsyncGenerator<Item, void> {
  for await (const each of pieces) yield { pieces: each };
}

async function* toEvents(
  tree: TreeId,
  batches: AsyncGenerator<readonly NumberedEvent[], void>,
  view: EventView,
): AsyncGenerator<Item, void> {
  for await (const events of batches) yield { tree, events: events.map((event) => showEvent(view, event)) };
  yield { over: tree };
}
