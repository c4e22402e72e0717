import {
  type Engine,
  type Page,
  type PageRequest,
  Partition,
  RunId,
  type RunFilter,
  type RunRecord,
  type Store,
  TreeId,
  type TreeSearch,
  type UserId,
} from "#kernel";
import { treeAddress, callTree } from "#tree";

/** The tenant to read. Default: the partition without a tenant. */
interface TenantFilter {
  readonly tenant?: string;
}

/** Lists of runs, from the store, which lags slightly behind. */
export class Runs {
  readonly #engine: Engine;
  readonly #store: Store | null;

  constructor(engine: Engine, store: Store | null) {
    this.#engine = engine;
    this.#store = store;
  }

  /** Lists runs, newest first. @throws TypeError without a store. */
  list(filter: RunFilter & TenantFilter = {}, page: PageRequest = { size: 50 }): Promise<Page<RunRecord>> {
    const { tenant, ...rest } = filter;
    return this.#need().runs.list(Partition.of(tenant), rest, page);
  }

  /** Finds roots by a prefix or an amount, in that order. @throws TypeError without a store. */
  search(search: TreeSearch & TenantFilter, page: PageRequest = { size: 50 }): Promise<Page<RunRecord>> {
    const { tenant, ...rest } = search;
    return this.#need().runs.search(Partition.of(tenant), rest, page);
  }

  /** Returns every run of a tree, in spawn order. @throws TypeError without a store. */
  tree(tree: string, { tenant }: TenantFilter = {}): Promise<readonly RunRecord[]> {
    return this.#need().runs.tree(Partition.of(tenant), TreeId.of(tree));
  }

  /**
   * Returns the root of a tree. Undefined: the tree does not exist, or waits for its turn in a session. Asks the tree
   * itself if the store does not have it yet.
   *
   * @throws TypeError without a store.
   */
  async root(tree: string, { tenant }: TenantFilter = {}): Promise<RunRecord | undefined> {
    const [root] = await this.tree(tree, tenant === undefined ? {} : { tenant });
    if (root) return root;
    const id = TreeId.of(tree);
    const address = treeAddress(id, tenant);
    const first = { after: 0, limit: 1 };
    const { runs } = await callTree(
      (method, given) => this.#engine.call(address, method, given),
      "unprojected",
      first,
    );
    return runs.find(({ runId }) => runId === RunId.root(id));
  }

  /** Returns the user that a tree works for. Null: none. Undefined as for `root`. @throws TypeError without a store. */
  async userOf(tree: string, whose: TenantFilter = {}): Promise<UserId | null | undefined> {
    return (await this.root(tree, whose))?.userId;
  }

  #need(): Store {
    if (!this.#store) throw new TypeError("lists need a store: set createRuntime({ store })");
    return this.#store;
  }
}
