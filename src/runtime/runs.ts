import { type Page, type PageRequest, type RunFilter, type RunRecord, type Store, TreeId } from "#kernel";
import { partitionOf } from "./addresses.ts";

/** Whose runs. Default: those of nobody in particular. */
interface Whose {
  readonly tenant?: string;
}

/** Lists of runs, from the store: a little behind what really happens. */
export class Runs {
  readonly #store: Store | null;

  constructor(store: Store | null) {
    this.#store = store;
  }

  /** Newest first. @throws TypeError without a store. */
  list(filter: RunFilter & Whose = {}, page: PageRequest = { size: 50 }): Promise<Page<RunRecord>> {
    const { tenant, ...rest } = filter;
    return this.#need().runs.list(partitionOf(tenant), rest, page);
  }

  /** Every run of a tree, in the order they were hired. @throws TypeError without a store. */
  tree(tree: string, { tenant }: Whose = {}): Promise<readonly RunRecord[]> {
    return this.#need().runs.tree(partitionOf(tenant), TreeId.of(tree));
  }

  #need(): Store {
    if (!this.#store) throw new TypeError("lists need a store: createRuntime({ store })");
    return this.#store;
  }
}
