import { Partition, RunId, type TreeId } from "#kernel";
import { LruMap } from "#base";
import type { Runtime } from "#runtime";
import { TreeModel, type TreeSnapshot } from "#view";
import { partitionOf, type Principal } from "./auth.ts";
import { eventViewOf, showEvent } from "./withhold.ts";

const maxTrees = 64;
const eventsPerRead = 1_000;

/**
 * Snapshots of trees, built from their events in the store. A live tree is continued from its last event. An ended tree
 * is read whole each time, because its content may have been erased since.
 */
export class TreeSnapshots {
  readonly #runtime: Runtime;
  readonly #live = new LruMap<string, TreeModel>({ max: maxTrees });

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Returns a tree up to its newest stored event. Errors are shown as far as the caller may read them. */
  async read(principal: Principal, tree: TreeId): Promise<TreeSnapshot> {
    const key = `${eventViewOf(principal)} ${Partition.key(partitionOf(principal), tree)}`;
    const known = this.#live.get(key);
    const model = await this.#continue(known ?? new TreeModel(tree), principal);
    if (!isOver(model)) {
      this.#live.set(key, model);
      return model.snapshot();
    }
    this.#live.delete(key);
    return (known ? await this.#continue(new TreeModel(tree), principal) : model).snapshot();
  }

  async #continue(model: TreeModel, principal: Principal): Promise<TreeModel> {
    const { events } = this.#runtime.store;
    const partition = partitionOf(principal);
    const view = eventViewOf(principal);
    for (;;) {
      const range = { after: model.seq, limit: eventsPerRead };
      const found = await events.read(partition, model.treeId, range);
      for (const event of found) model.apply(showEvent(view, event));
      if (found.length < eventsPerRead) return model;
    }
  }
}

const isOver = (model: TreeModel): boolean => (model.agent(RunId.root(model.treeId))?.end ?? null) !== null;
