import { type AgentView, TreeModel, type TreeSnapshot } from "#view";
import type { AgentRow, TreeEvent, TreeProblem, TreeUpdate } from "./messages.ts";

/** Number of events kept for the log. */
const keptEvents = 40;

/** The part of a tree that a tab has. */
export interface SentMark {
  readonly epoch: number;
  readonly version: number;
  readonly seq: number;
}

const nothing: SentMark = { epoch: -1, version: -1, seq: 0 };

/** One tree that a tab watches: its model, and its changes since any mark. */
export class HubTree {
  #model: TreeModel | null = null;
  /** Counts the models: versions of different models cannot be compared. */
  #epoch = 0;
  #events: TreeEvent[] = [];
  /** Events that came before the view. */
  #early: TreeEvent[] = [];
  #isOver = false;
  problem: TreeProblem | null = null;

  /** Number of the last known event. Null if there is none. */
  get seq(): number | null {
    return this.#model?.seq ?? null;
  }

  get model(): TreeModel | null {
    return this.#model;
  }

  show(view: TreeSnapshot): void {
    this.#model = TreeModel.from(view);
    this.#epoch += 1;
    this.problem = null;
    const early = this.#early;
    this.#early = [];
    this.apply(early);
  }

  /** Forgets the tree: the next view is the whole of it. */
  forget(): void {
    this.#model = null;
    this.#early = [];
  }

  /** Applies events in order. Returns whether none is missing in between. */
  apply(events: readonly TreeEvent[]): boolean {
    const model = this.#model;
    if (!model) {
      this.#early.push(...events);
      return true;
    }
    for (const event of events) {
      if (event.seq > model.seq + 1) return false;
      model.apply(event);
      if (event.seq > (this.#events.at(-1)?.seq ?? 0)) this.#events.push(event);
    }
    this.#events = this.#events.slice(-keptEvents);
    return true;
  }

  end(): void {
    this.#isOver = true;
    // A new epoch makes the tab paint that the tree has ended.
    this.#epoch += 1;
  }

  /** Returns the changes since a mark, and the new mark. Null if nothing changed. */
  takeChanges(mark: SentMark = nothing): { readonly update: TreeUpdate; readonly mark: SentMark } | null {
    const model = this.#model;
    const view = model?.view;
    if (!model || !view) return null;
    const isWhole = mark.epoch !== this.#epoch;
    if (!isWhole && model.version === mark.version && model.seq === mark.seq) return null;
    const { root: _, ...figures } = view;
    return {
      update: {
        ...figures,
        isWhole,
        rows: model.changedSince(isWhole ? -1 : mark.version).map(toRow),
        events: this.#events.filter(({ seq }) => isWhole || seq > mark.seq),
        isOver: this.#isOver,
      },
      mark: { epoch: this.#epoch, version: model.version, seq: model.seq },
    };
  }
}

const toRow = ({ children, ...agent }: AgentView): AgentRow => ({
  ...agent,
  children: children.map(({ runId }) => runId),
});
