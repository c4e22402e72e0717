import type { ProgressUpdate, TreeSnapshot } from "#view";
import { addressOf, ApiError, errorText, post, request, segment } from "../api/http.ts";
import type { RunRecord } from "../api/records.ts";
import type { TreeEvent, TreeProblem, Waiting } from "./messages.ts";

/** A piece of an answer, or the progress of a tool call. */
export interface RunPiece extends ProgressUpdate {
  readonly kind: string;
  readonly text: string;
}

/** Callbacks for data of the server. */
export interface SourceHandlers {
  /** A connection is open. Changes without a connection were missed. */
  readonly onOpen: () => void;
  readonly onView: (view: TreeSnapshot) => void;
  readonly onProblem: (problem: TreeProblem) => void;
  readonly onEvents: (tree: string, events: readonly TreeEvent[]) => void;
  readonly onEnd: (tree: string) => void;
  readonly onRuns: (runs: readonly RunRecord[]) => void;
  readonly onWaiting: (waiting: Waiting) => void;
  readonly onPieces: (pieces: readonly RunPiece[]) => void;
  readonly onLost: (isLost: boolean) => void;
  readonly onRefused: () => void;
  /** Returns the last known event of a tree. Null if a view is needed. */
  readonly lastSeq: (tree: string) => number | null;
}

const retryMs = 2_000;
/** Events before a view that are read for the log. */
const recent = 40;

interface Named {
  readonly tree: string;
}

/**
 * The connection to `/live`. It reconnects by itself and then resumes everything after the last known event. Only one
 * subscription request is in flight at a time, so the newest one wins.
 */
export class LiveSource {
  readonly #on: SourceHandlers;
  #source: EventSource | null = null;
  /** Null: the server has not named the stream yet. */
  #id: string | null = null;
  #trees: readonly string[] = [];
  #runs: readonly string[] = [];
  #isAsking = false;
  #isStale = false;
  #isClosed = false;
  /** The last subscription that the server accepted, and its stream. */
  #granted = "";

  constructor(on: SourceHandlers) {
    this.#on = on;
    this.#open();
  }

  /** Watches these trees, and sends the answers of these runs. */
  want(trees: readonly string[], runs: readonly string[]): void {
    this.#trees = trees;
    this.#runs = runs;
    void this.#ask();
  }

  /** Opens a new connection: something that should have come did not. */
  reopen(): void {
    if (this.#isClosed) return;
    this.#source?.close();
    this.#on.onLost(true);
    this.#open();
  }

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
    this.#id = null;
  }

  #open(): void {
    this.#id = null;
    this.#granted = "";
    const source = new EventSource(addressOf("/live"));
    this.#source = source;
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- data enters here
    const on = <Data>(name: string, take: (data: Data) => void): void =>
      source.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
    on<{ id: string }>("opened", ({ id }) => {
      this.#id = id;
      // A new stream watches nothing.
      this.#granted = JSON.stringify([id, [], []]);
      this.#on.onLost(false);
      this.#on.onOpen();
      void this.#ask();
    });
    on<{ items: readonly RunRecord[] }>("runs", ({ items }) => this.#on.onRuns(items));
    on<Waiting>("approvals", (waiting) => this.#on.onWaiting(waiting));
    on<Named & { events: readonly TreeEvent[] }>("tree", ({ tree, events }) =>
      this.#on.onEvents(tree, events),
    );
    on<Named>("end", ({ tree }) => this.#on.onEnd(tree));
    on<{ items: readonly RunPiece[] }>("delta", ({ items }) => this.#on.onPieces(items));
    source.addEventListener("error", (event) => {
      // A message of the server has a name of its own; this is the browser's.
      if (event instanceof MessageEvent) return;
      this.#id = null;
      this.#on.onLost(true);
      if (source.readyState === EventSource.CLOSED) void this.#retryRefused();
    });
  }

  /** The browser does not try again by itself: asks why, and tries again. */
  async #retryRefused(): Promise<void> {
    try {
      await request("/me");
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.#on.onRefused();
    }
    setTimeout(() => this.reopen(), retryMs);
  }

  async #ask(): Promise<void> {
    this.#isStale = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#isStale && this.#id !== null) {
      this.#isStale = false;
      await this.#askOnce(this.#id);
    }
    this.#isAsking = false;
  }

  /** New trees are requested one by one: a missing tree must not hide the others. */
  async #askOnce(id: string): Promise<void> {
    const seqs = this.#trees.map((tree) => ({ tree, after: this.#on.lastSeq(tree) }));
    const known = seqs.flatMap(({ tree, after }) => (after === null ? [] : [{ tree, after }]));
    const fresh = seqs.filter(({ after }) => after === null).map(({ tree }) => tree);
    const deltas = this.#runs;
    try {
      const wish = JSON.stringify([id, this.#trees, deltas]);
      if (fresh.length === 0 && wish === this.#granted) return;
      if (fresh.length === 0) await post(`/live/${segment(id)}`, { trees: known, deltas });
      for (const tree of fresh) {
        const trees = [...known, { tree, recent }];
        const view = await this.#view(id, { trees, deltas: fresh.length === 1 ? deltas : [] }, tree);
        if (view) known.push({ tree, after: view.seq });
      }
      // The answers are asked for once all trees are there.
      if (fresh.length > 1) this.#isStale = true;
      else this.#granted = wish;
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404;
      // The stream, or one of its trees, no longer exists.
      if (isGone && this.#id === id) this.reopen();
      else if (this.#id === id) setTimeout(() => void this.#ask(), retryMs);
    }
  }

  async #view(id: string, body: object, tree: string): Promise<TreeSnapshot | null> {
    try {
      const { views } = await post<{ readonly views: readonly TreeSnapshot[] }>(`/live/${segment(id)}`, body);
      for (const view of views) this.#on.onView(view);
      return views[0] ?? null;
    } catch (error) {
      const status = error instanceof ApiError ? error.status : -1;
      if (status === 400 || (status === 404 && !errorText(error).includes("live stream"))) {
        this.#on.onProblem({ treeId: tree, problem: "missing" });
        return null;
      }
      if (status !== 0) this.#on.onProblem({ treeId: tree, problem: { detail: errorText(error) } });
      throw error;
    }
  }
}
