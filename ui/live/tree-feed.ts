import { type ProgressUpdate, TreeModel, type TreeSnapshot, type TreeView } from "#view";
import { addressOf, ApiError, errorText, request, segment } from "../api/http.ts";
import { setHeard } from "./connection.ts";

/** An event of a tree. */
export type TreeEvent = Parameters<TreeModel["apply"]>[0];

/** A piece of an answer, or the progress of a tool call. */
interface RunDelta extends ProgressUpdate {
  readonly kind: string;
  readonly text: string;
}

/** A tree as far as it is known here. */
export type FeedState =
  | { readonly kind: "loading" }
  /** It does not exist, or the key may not see it. */
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly detail: string }
  | {
      readonly kind: "ready";
      readonly view: TreeView;
      /** The last events, oldest first. */
      readonly events: readonly TreeEvent[];
      /** The answers that runs are giving now, by run: the last characters of each. */
      readonly speech: ReadonlyMap<string, string>;
      /** The stream has told all: the tree is over. */
      readonly isOver: boolean;
    };

/** Events that are kept for the log. */
const keptEvents = 200;
/** Characters of an answer that are kept. */
const keptSpeech = 4_000;
const retryMs = 2_000;

/**
 * One tree, live: a snapshot, then its events. The last events before the snapshot are read for the log alone.
 *
 * 1. Every event goes through the reducer, in order. A gap is answered with a new snapshot.
 * 2. Listeners are told at most once a frame, so a burst of events is one paint. A hidden page paints nothing.
 * 3. A stream that breaks continues after its last event by itself; what is shown stays.
 */
export class TreeFeed {
  readonly #tree: string;
  readonly #listeners = new Set<() => void>();
  #state: FeedState = { kind: "loading" };
  #model: TreeModel | null = null;
  #events: TreeEvent[] = [];
  readonly #speech = new Map<string, string>();
  #source: EventSource | null = null;
  #isOver = false;
  #isClosed = false;
  #frame = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(tree: string) {
    this.#tree = tree;
    void this.#load();
  }

  get state(): FeedState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
    clearTimeout(this.#retry);
    cancelAnimationFrame(this.#frame);
    setHeard(`tree ${this.#tree}`, true);
  }

  async #load(): Promise<void> {
    try {
      const snapshot = await request<TreeSnapshot>(`/runs/${segment(this.#tree)}/view`);
      if (this.#isClosed) return;
      this.#heard(true);
      // The store may be behind what is shown already.
      if (snapshot.seq >= (this.#model?.seq ?? 0)) this.#model = TreeModel.from(snapshot);
      this.#changed();
      this.#listen(Math.max(0, (this.#model?.seq ?? 0) - keptEvents));
    } catch (error) {
      if (!this.#isClosed) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const status = error instanceof ApiError ? error.status : -1;
    if (status === 404 || status === 400) return this.#set({ kind: "missing" });
    this.#heard(status !== 0);
    if (!this.#model) this.#set({ kind: "failed", detail: errorText(error) });
    this.#retry = setTimeout(() => void this.#load(), retryMs);
  }

  #listen(after: number): void {
    this.#source?.close();
    const source = new EventSource(addressOf(`/runs/${segment(this.#tree)}/events?after=${after}`));
    this.#source = source;
    source.addEventListener("open", () => this.#heard(true));
    source.addEventListener("message", ({ data }: MessageEvent<string>) => this.#apply(JSON.parse(data)));
    source.addEventListener("delta", ({ data }: MessageEvent<string>) => this.#hear(JSON.parse(data)));
    source.addEventListener("end", () => {
      source.close();
      this.#isOver = true;
      this.#changed();
    });
    source.addEventListener("error", () => {
      this.#heard(false);
      // Refused, not broken: the browser does not try again by itself.
      if (source.readyState === EventSource.CLOSED)
        this.#retry = setTimeout(() => void this.#load(), retryMs);
    });
  }

  #apply(event: TreeEvent): void {
    const model = this.#model;
    if (!model || event.seq <= (this.#events.at(-1)?.seq ?? 0)) return;
    if (event.seq > model.seq + 1) return void this.#load();
    model.apply(event);
    this.#events.push(event);
    if (this.#events.length > 2 * keptEvents) this.#events = this.#events.slice(-keptEvents);
    if (event.type === "model.end" || event.type === "run.end") this.#speech.delete(event.runId);
    this.#changed();
  }

  #hear(delta: RunDelta): void {
    if (delta.kind === "reset") this.#speech.set(delta.runId, "");
    else if (delta.kind === "text")
      this.#speech.set(delta.runId, `${this.#speech.get(delta.runId) ?? ""}${delta.text}`.slice(-keptSpeech));
    this.#model?.hear(delta);
    this.#changed();
  }

  #heard(isHeard: boolean): void {
    setHeard(`tree ${this.#tree}`, isHeard);
  }

  #changed(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const view = this.#model?.view;
      if (!view) return;
      const events = this.#events.slice(-keptEvents);
      this.#set({ kind: "ready", view, events, speech: new Map(this.#speech), isOver: this.#isOver });
    });
  }

  #set(state: FeedState): void {
    this.#state = state;
    for (const each of this.#listeners) each();
  }
}
