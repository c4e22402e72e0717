import type { RunRecord } from "../api/records.ts";
import { type HubLine, connectToHub } from "./connect.ts";
import { setStatus } from "./connection.ts";
import type { LiveMessage, Waiting } from "./messages.ts";
import { TreeFeed } from "./tree-feed.ts";

/** Takes the changes of lists. */
interface ListHandlers {
  readonly onRuns: (runs: readonly RunRecord[]) => void;
  readonly onWaiting: (waiting: Waiting) => void;
  readonly onRelist: () => void;
  readonly onRefused: () => void;
}

/**
 * The tab's side of the live data. It reports what the tab shows, passes on each message, and requests the next one in
 * the following frame: so there is at most one message per frame, and none while the tab is hidden.
 */
class LiveClient {
  readonly #feeds = new Map<string, { readonly feed: TreeFeed; users: number }>();
  readonly #runs = new Map<string, RunRecord>();
  readonly #heldListeners = new Set<() => void>();
  #line: HubLine | null = null;
  #lists: ListHandlers | null = null;
  #speaking: string | null = null;
  #isHeld = false;

  /** Connects for a reader. Returns how to end it. */
  connect(reader: string, lists: ListHandlers): () => void {
    this.#lists = lists;
    const line = connectToHub(reader, {
      onMessage: (message) => this.#take(message),
      onBegin: () => this.#begin(),
    });
    this.#line = line;
    this.#begin();
    const leave = (): void => line.send({ kind: "leave" });
    const show = (event: PageTransitionEvent): void => (event.persisted ? this.#begin() : undefined);
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", show);
    return () => {
      window.removeEventListener("pagehide", leave);
      window.removeEventListener("pageshow", show);
      leave();
      line.close();
      this.#line = null;
    };
  }

  /** Follows a tree, until the returned function is called. */
  follow(tree: string): { readonly feed: TreeFeed; readonly leave: () => void } {
    const entry = this.#feeds.get(tree) ?? { feed: new TreeFeed(() => this.#isHeld), users: 0 };
    this.#feeds.set(tree, entry);
    entry.users += 1;
    this.#speaking = `${tree}~0`;
    this.#watch();
    const leave = (): void => {
      entry.users -= 1;
      if (entry.users > 0) return;
      this.#feeds.delete(tree);
      if (this.#speaking?.startsWith(`${tree}~`)) this.#speaking = null;
      this.#watch();
    };
    return { feed: entry.feed, leave };
  }

  /** Streams the answers of a run, instead of those of its root. */
  listenTo(run: string): void {
    if (this.#speaking === run) return;
    this.#speaking = run;
    this.#watch();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  readonly subscribeToHeld = (listener: () => void): (() => void) => {
    this.#heldListeners.add(listener);
    return () => void this.#heldListeners.delete(listener);
  };

  /** Freezes trees and lists, or releases them. Pending questions are always updated. */
  setHeld(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.showNew();
    for (const each of this.#heldListeners) each();
  }

  /** Shows the updates that arrived while the page was held. */
  showNew(): void {
    for (const { feed } of this.#feeds.values()) feed.show();
    if (this.#runs.size > 0) this.#lists?.onRuns([...this.#runs.values()]);
    this.#runs.clear();
  }

  #begin(): void {
    this.#watch();
    this.#line?.send({ kind: "ready" });
  }

  #watch(): void {
    this.#line?.send({ kind: "watch", trees: [...this.#feeds.keys()], speaking: this.#speaking });
  }

  #take({ trees, runs, mustRelist, waiting, status, speech }: LiveMessage): void {
    for (const update of trees) this.#feeds.get(update.treeId)?.feed.take(update);
    if (speech)
      this.#feeds
        .get(speech.run.slice(0, speech.run.lastIndexOf("~")))
        ?.feed.setSpeech(speech.run, speech.text);
    for (const run of runs) this.#runs.set(run.runId, run);
    if (!this.#isHeld && runs.length > 0) this.showNew();
    if (mustRelist) this.#lists?.onRelist();
    if (waiting) this.#lists?.onWaiting(waiting);
    if (status.isRefused) this.#lists?.onRefused();
    setStatus(status);
    whenPainted(() => this.#line?.send({ kind: "ready" }));
  }
}

/** Calls in the next frame of a tab that is seen. */
function whenPainted(call: () => void): void {
  if (document.visibilityState === "visible") return void requestAnimationFrame(() => call());
  const show = (): void => {
    if (document.visibilityState !== "visible") return;
    document.removeEventListener("visibilitychange", show);
    requestAnimationFrame(() => call());
  };
  document.addEventListener("visibilitychange", show);
}

/** The live data of this tab. */
export const liveClient = new LiveClient();
