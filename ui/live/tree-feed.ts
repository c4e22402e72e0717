import type { AgentView, TreeView } from "#view";
import type { AgentRow, TreeEvent, TreeProblem, TreeUpdate } from "./messages.ts";

/** The state of a tree in this tab. */
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
      /** The answer that the chosen run is giving now, by run: its last characters. */
      readonly speech: ReadonlyMap<string, string>;
      /** Whether the tree has ended and all its events were received. */
      readonly isOver: boolean;
      /** The last event of the tree, also while the screen is held still. */
      readonly progress: Progress;
    };

/** The last event that came, and how many come in a second. */
interface Progress {
  readonly seq: number;
  perSecond(now: number): number;
}

/** Number of events kept for the log. */
const keptEvents = 200;
/** The time over which the rate is taken. */
const rateMs = 3_000;

/**
 * One tree in a tab. The hub sends the changed rows; each becomes a new view, and so do its ancestors, which changed
 * with it. All other views remain the same objects, so unchanged rows are not painted.
 */
export class TreeFeed implements Progress {
  readonly #listeners = new Set<() => void>();
  readonly #views = new Map<string, AgentView>();
  #state: FeedState = { kind: "loading" };
  #events: readonly TreeEvent[] = [];
  #samples: readonly (readonly [at: number, seq: number])[] = [];
  #update: TreeUpdate | null = null;
  #speech: ReadonlyMap<string, string> = new Map();
  readonly #isHeld: () => boolean;

  /** `isHeld`: whether the display is frozen. */
  constructor(isHeld: () => boolean) {
    this.#isHeld = isHeld;
  }

  get state(): FeedState {
    return this.#state;
  }

  get seq(): number {
    return this.#update?.seq ?? 0;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Takes what changed. */
  take(update: TreeUpdate | TreeProblem): void {
    if ("problem" in update) {
      const { problem } = update;
      return this.#set(problem === "missing" ? { kind: "missing" } : { kind: "failed", ...problem });
    }
    if (update.isWhole) this.#views.clear();
    // Children first: a parent's view holds theirs.
    for (const row of update.rows.toReversed()) this.#views.set(row.runId, this.#viewOf(row));
    const last = this.#events.at(-1)?.seq ?? 0;
    const added = update.events.filter(({ seq }) => seq > last);
    this.#events = [...this.#events, ...added].slice(-keptEvents);
    const now = Date.now();
    this.#samples = [...this.#samples.filter(([at]) => at > now - rateMs), [now, update.seq]];
    this.#update = update;
    if (!this.#isHeld()) this.show();
  }

  setSpeech(run: string, text: string): void {
    this.#speech = text === "" ? new Map() : new Map([[run, text]]);
    if (!this.#isHeld()) this.show();
  }

  /** Shows all that has come. */
  show(): void {
    const update = this.#update;
    const root = update && this.#views.get(`${update.treeId}~0`);
    if (!update || !root) return;
    const { treeId, seq, at, startedAt, limits, counts, isOver } = update;
    const view: TreeView = { treeId, seq, at, startedAt, limits, counts, root };
    this.#set({ kind: "ready", view, events: this.#events, speech: this.#speech, isOver, progress: this });
  }

  perSecond(now: number): number {
    const first = this.#samples.find(([at]) => at > now - rateMs);
    if (!first) return 0;
    return (1000 * (this.seq - first[1])) / Math.max(1000, now - first[0]);
  }

  #viewOf({ children, ...agent }: AgentRow): AgentView {
    return { ...agent, children: children.flatMap((run) => this.#views.get(run) ?? []) };
  }

  #set(state: FeedState): void {
    this.#state = state;
    for (const each of this.#listeners) each();
  }
}
