import { type AgentView, TreeModel, type TreeSnapshot } from "#view";
import type { AgentRow, TreeEvent, TreeProblem, TreeUpdate } from "./messages.ts";

/** Events that are kept for the log. */
const keptEvents = 40;

/** The part of a tree that a tab has. */
export interface SentMark {
  readonly epoch: number;
  readonly version: number;
  readonly seq: number;
}

const nothing: SentMark = { epoch: -1, version: -1, seq: 0 };

/** One tree that a tab watches: its model, and what of it changed since any point. */
export class HubTree {
  #model: TreeModel | null = null;
  /** Counts the models: versions of one say nothing about another. */
  #epoch = 0;
  #events: TreeEvent[] = [];
  /** Events that came before the view. */
  #early: TreeEvent[] = [];
  #isOver = false;
  problem: TreeProblem | null = null;

  /** The last event that is known; null: none. */
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
    // Another paint tells that it is over.
    this.#epoch += 1;
  }

  /** Returns what changed since a mark, and the new mark; null: nothing did. */
  since(mark: SentMark = nothing): { readonly update: TreeUpdate; readonly mark: SentMark } | null {
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
