import {
  type Engine,
  type Page,
  type PageRequest,
  Partition,
  type RunFilter,
  type RunRecord,
  type Store,
  TreeId,
  type TreeSearch,
  type UserId,
} from "#kernel";
import { treeAddress, callTree } from "#tree";

/** Whose runs. Default: those of nobody in particular. */
interface Whose {
  readonly tenant?: string;
}

/** Lists of runs, from the store: a little behind what really happens. */
export class Runs {
  readonly #engine: Engine;
  readonly #store: Store | null;

  constructor(engine: Engine, store: Store | null) {
    this.#engine = engine;
    this.#store = store;
  }

  /** Newest first. @throws TypeError without a store. */
  list(filter: RunFilter & Whose = {}, page: PageRequest = { size: 50 }): Promise<Page<RunRecord>> {
    const { tenant, ...rest } = filter;
    return this.#need().runs.list(Partition.of(tenant), rest, page);
  }

  /** Roots that are found by a beginning or an amount, in that order. @throws TypeError without a store. */
  search(search: TreeSearch & Whose, page: PageRequest = { size: 50 }): Promise<Page<RunRecord>> {
    const { tenant, ...rest } = search;
    return this.#need().runs.search(Partition.of(tenant), rest, page);
  }

  /** Every run of a tree, in the order they were hired. @throws TypeError without a store. */
  tree(tree: string, { tenant }: Whose = {}): Promise<readonly RunRecord[]> {
    return this.#need().runs.tree(Partition.of(tenant), TreeId.of(tree));
  }

  /**
   * Returns the root of a tree; undefined: the tree does not exist, or waits for its turn in a session. Asks the tree itself,
   * for as long as the store has not heard of it.
   *
   * @throws TypeError without a store.
   */
  async root(tree: string, { tenant }: Whose = {}): Promise<RunRecord | undefined> {
    const [root] = await this.tree(tree, tenant === undefined ? {} : { tenant });
    if (root) return root;
    const address = treeAddress(TreeId.of(tree), tenant);
    const first = { after: 0, limit: 1 };
    const { runs } = await callTree(
      (method, given) => this.#engine.call(address, method, given),
      "unprojected",
      first,
    );
    return runs[0];
  }

  /** Returns the user that a tree works for; null: none, undefined as for `root`. @throws TypeError without a store. */
  async userOf(tree: string, whose: Whose = {}): Promise<UserId | null | undefined> {
    return (await this.root(tree, whose))?.userId;
  }

  #need(): Store {
    if (!this.#store) throw new TypeError("lists need a store: createRuntime({ store })");
    return this.#store;
  }
}
