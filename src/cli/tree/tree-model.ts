import { type NumberedEvent, RunId, type TreeId } from "#kernel";
import type { RunDelta } from "#runtime";
import { dispatch, type OnEvent } from "./on-event.ts";
import { type Hired, RunState } from "./run-state.ts";
import type { RunView } from "./run-view.ts";

/** A tree as its events tell it: fed in order, read at any moment. */
export class TreeModel {
  readonly treeId: TreeId;
  readonly #runs = new Map<RunId, RunState>();
  #seq = 0;
  #updates = 0;
  #at = 0;

  constructor(treeId: TreeId) {
    this.treeId = treeId;
  }

  /** The tree that these events are of. @throws TypeError if there are none. */
  static of(events: readonly NumberedEvent[]): TreeModel {
    const [first] = events;
    if (!first) throw new TypeError("a tree without events");
    const model = new TreeModel(first.treeId);
    for (const event of events) model.apply(event);
    return model;
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Another number whenever the view has changed. */
  get version(): number {
    return this.#seq + this.#updates;
  }

  /** When the last event happened. */
  get at(): number {
    return this.#at;
  }

  /** The root and, below it, everybody it hired; null before the first event. */
  get root(): RunView | null {
    return this.#runs.get(RunId.root(this.treeId))?.view() ?? null;
  }

  /** Every event once, in order: what comes again changes nothing. */
  apply(event: NumberedEvent): void {
    if (event.seq <= this.#seq) return;
    this.#seq = event.seq;
    this.#at = event.at;
    dispatch(this.#on, event);
    this.#runs.get(event.runId)?.apply(event);
  }

  /** The progress of tool calls. Pieces of answers change nothing here. */
  hear({ runId, update }: RunDelta): void {
    if (!update) return;
    this.#updates += 1;
    this.#runs.get(runId)?.hear(update);
  }

  readonly #on: OnEvent = {
    "run.start": ({ runId, agent, parentRunId, priority, at }) => {
      this.#know({ runId, agent, parentRunId, priority, at });
    },
    "spawn.admitted": ({ child, childAgent, runId, priority, at }) => {
      this.#know({ runId: child, agent: childAgent, parentRunId: runId, priority, at });
    },
    "spawn.queued": ({ child, childAgent, runId, victim, at }) => {
      // Its priority is told when it starts.
      const hired = { runId: child, agent: childAgent, parentRunId: runId, at };
      this.#know({ ...hired, priority: "normal" }).queue(at, victim);
      if (victim) this.#runs.get(victim)?.giveWay(child);
    },
  };

  #know(hired: Hired): RunState {
    const known = this.#runs.get(hired.runId);
    if (known) return known;
    const state = new RunState(hired);
    this.#runs.set(hired.runId, state);
    if (hired.parentRunId) this.#runs.get(hired.parentRunId)?.helpers.push(state);
    return state;
  }
}

/** A run and everybody below it, each before its own helpers. */
export function* everybody(root: RunView): Generator<RunView, void> {
  yield root;
  for (const helper of root.helpers) yield* everybody(helper);
}
