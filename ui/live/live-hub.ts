import { ApiError, request } from "../api/http.ts";
import type { RunRecord } from "../api/records.ts";
import { HubTree, type SentMark } from "./hub-tree.ts";
import { LiveSource, type RunPiece } from "./live-source.ts";
import type { LiveMessage, ServerStatus, TabMessage, TreeEvent, Waiting } from "./messages.ts";

/*
 * The hub: the one connection of all tabs, and one model of each tree that a tab shows.
 *
 * Neighbours: it runs in a SharedWorker or, if there is none, in one of the tabs. `LiveSource` is the connection.
 *
 * 1. Every event of a watched tree goes through its model, in order. After a gap, the tree is read again.
 * 2. A tab gets a message only after it has painted the previous one: at most one per frame. The message holds the rows
 * that changed since, however many events there were. A hidden tab paints nothing, so it gets nothing until it is
 * visible.
 * 3. Events and records are gathered for a moment before that; a first view, a problem and pieces of answers are not.
 * 4. Per tab, only its position and the newest record of each changed run are kept.
 */

/** Characters kept of an answer. */
const keptSpeech = 4_000;
const statusMs = 5_000;
/**
 * The time for which events and records are gathered. The events of one model call come in several parts, which are
 * painted once, and a busy tree is painted ten times a second.
 */
const gatherMs = 100;
/** Runs that a tab has not taken, from which on it reads its lists again instead. */
const maxRuns = 500;

interface Tab {
  readonly post: (message: LiveMessage) => void;
  trees: readonly string[];
  speaking: string | null;
  isReady: boolean;
  readonly sent: Map<string, SentMark>;
  readonly toldProblems: Set<string>;
  readonly runs: Map<string, RunRecord>;
  mustRelist: boolean;
  waiting: Waiting | null;
  status: ServerStatus | null;
  speech: string | null;
}

interface StatusAnswer {
  readonly workers: number | null;
  readonly store: "ready" | "no-answer";
  readonly lagMs: number | null;
  readonly failedWrites: number | null;
  readonly reducedTrees: number | null;
}

/** Serves all tabs of one reader. */
export class LiveHub {
  readonly #tabs = new Map<unknown, Tab>();
  readonly #trees = new Map<string, HubTree>();
  readonly #speech = new Map<string, string>();
  #waiting: Waiting | null = null;
  #status: ServerStatus = {
    lostSince: null,
    isStoreGone: false,
    lagMs: null,
    failedWrites: null,
    reducedTrees: null,
    noWorkerSince: null,
    isRefused: false,
  };
  readonly #source: LiveSource;
  #isOpen = false;
  readonly #timer: ReturnType<typeof setInterval>;
  #gathering: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#source = new LiveSource({
      onOpen: () => {
        this.#isOpen = true;
        this.#change({ isRefused: false });
        for (const tab of this.#tabs.values()) tab.mustRelist = true;
        this.#flush();
      },
      onView: (view) => {
        this.#trees.get(view.treeId)?.show(view);
        this.#flush();
      },
      onProblem: (problem) => {
        const tree = this.#trees.get(problem.treeId);
        if (tree) tree.problem = problem;
        this.#flush();
      },
      onEvents: (tree, events) => this.#apply(tree, events),
      onEnd: (tree) => {
        this.#trees.get(tree)?.end();
        this.#flush();
      },
      onRuns: (runs) => this.#applyRuns(runs),
      onWaiting: (waiting) => {
        this.#waiting = waiting;
        for (const tab of this.#tabs.values()) tab.waiting = waiting;
        this.#flush();
      },
      onPieces: (pieces) => this.#applyPieces(pieces),
      onLost: (isLost) => this.#change({ lostSince: isLost ? (this.#status.lostSince ?? Date.now()) : null }),
      onRefused: () => this.#change({ isRefused: true }),
      lastSeq: (tree) => this.#trees.get(tree)?.seq ?? null,
    });
    this.#timer = setInterval(() => void this.#ask(), statusMs);
    void this.#ask();
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#gathering);
    this.#source.close();
  }

  /** Takes a message of a tab. `post` sends to it. */
  take(key: unknown, message: TabMessage, post: Tab["post"]): void {
    if (message.kind === "leave") this.#tabs.delete(key);
    else {
      const tab = this.#tabs.get(key) ?? this.#enter(key, post);
      if (message.kind === "ready") tab.isReady = true;
      else {
        tab.trees = message.trees;
        if (tab.speaking !== message.speaking) tab.speech = null;
        tab.speaking = message.speaking;
        for (const tree of tab.sent.keys()) if (!tab.trees.includes(tree)) tab.sent.delete(tree);
        for (const tree of tab.toldProblems) if (!tab.trees.includes(tree)) tab.toldProblems.delete(tree);
      }
    }
    if (message.kind !== "ready") this.#want();
    else if (this.#gathering !== undefined) return;
    this.#flush();
  }

  #enter(key: unknown, post: Tab["post"]): Tab {
    const tab: Tab = {
      post,
      trees: [],
      speaking: null,
      isReady: true,
      sent: new Map(),
      toldProblems: new Set(),
      runs: new Map(),
      // Other tabs have received earlier changes. A tab that comes before the connection is informed when it opens.
      mustRelist: this.#isOpen,
      waiting: this.#waiting,
      status: null,
      speech: null,
    };
    this.#tabs.set(key, tab);
    return tab;
  }

  #want(): void {
    const tabs = [...this.#tabs.values()];
    const trees = new Set(tabs.flatMap((tab) => tab.trees));
    for (const tree of this.#trees.keys()) if (!trees.has(tree)) this.#trees.delete(tree);
    for (const tree of trees) {
      const known = this.#trees.get(tree);
      if (!known || known.problem) this.#trees.set(tree, new HubTree());
    }
    const runs = new Set(tabs.flatMap(({ speaking }) => speaking ?? []));
    for (const run of this.#speech.keys()) if (!runs.has(run)) this.#speech.delete(run);
    this.#source.want([...trees], [...runs]);
  }

  #apply(name: string, events: readonly TreeEvent[]): void {
    const tree = this.#trees.get(name);
    if (!tree) return;
    if (!tree.apply(events)) {
      tree.forget();
      this.#source.reopen();
      return;
    }
    for (const { type, runId } of events)
      if (type === "model.end" || type === "run.end") this.#speech.delete(runId);
    this.#gather();
  }

  #applyPieces(pieces: readonly RunPiece[]): void {
    for (const { runId, kind, text, update } of pieces) {
      const before = kind === "reset" ? "" : (this.#speech.get(runId) ?? "");
      if (kind === "reset" || kind === "text") this.#speech.set(runId, (before + text).slice(-keptSpeech));
      this.#trees.get(runId.slice(0, runId.lastIndexOf("~")))?.model?.applyDelta({ runId, update });
    }
    this.#flush();
  }

  #applyRuns(runs: readonly RunRecord[]): void {
    for (const tab of this.#tabs.values()) {
      for (const run of runs) tab.runs.set(run.runId, run);
      if (tab.runs.size <= maxRuns) continue;
      tab.runs.clear();
      tab.mustRelist = true;
    }
    this.#gather();
  }

  async #ask(): Promise<void> {
    try {
      const { workers, store, lagMs, failedWrites, reducedTrees } = await request<StatusAnswer>("/status", {
        signal: AbortSignal.timeout(2 * statusMs),
      });
      this.#change({
        lagMs,
        failedWrites,
        reducedTrees,
        isStoreGone: store === "no-answer",
        noWorkerSince: workers === 0 ? (this.#status.noWorkerSince ?? Date.now()) : null,
      });
    } catch (error) {
      if (error instanceof ApiError) return;
      // The connection is silent without an error event, so it is reopened. The stream reports other errors.
      this.#change({ isStoreGone: false });
      this.#source.reopen();
    }
  }

  #change(status: Partial<ServerStatus>): void {
    this.#status = { ...this.#status, ...status };
    this.#flush();
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => this.#flush(), gatherMs);
  }

  #flush(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    for (const tab of this.#tabs.values()) {
      if (!tab.isReady) continue;
      const message = this.#messageFor(tab);
      if (!message) continue;
      tab.isReady = false;
      tab.post(message);
    }
  }

  /** Returns the changes that a tab does not have yet. Null if there are none. */
  #messageFor(tab: Tab): LiveMessage | null {
    const trees = tab.trees.flatMap((tree) => this.#treeFor(tab, tree));
    const text = tab.speaking === null ? "" : (this.#speech.get(tab.speaking) ?? "");
    const isSpoken = tab.speaking !== null && text !== (tab.speech ?? "");
    const { runs, mustRelist, waiting, status } = tab;
    if (trees.length + runs.size === 0 && !mustRelist && !waiting && !isSpoken && status === this.#status)
      return null;
    const message: LiveMessage = {
      trees,
      runs: [...runs.values()],
      mustRelist,
      waiting,
      status: this.#status,
      speech: isSpoken && tab.speaking !== null ? { run: tab.speaking, text } : null,
    };
    tab.speech = text;
    tab.status = this.#status;
    tab.mustRelist = false;
    tab.waiting = null;
    runs.clear();
    return message;
  }

  #treeFor(tab: Tab, name: string): LiveMessage["trees"] {
    const tree = this.#trees.get(name);
    if (tree?.problem) {
      if (tab.toldProblems.has(name)) return [];
      tab.toldProblems.add(name);
      return [tree.problem];
    }
    const found = tree?.takeChanges(tab.sent.get(name));
    if (!found) return [];
    tab.sent.set(name, found.mark);
    return [found.update];
  }
}
