import { Partition, type TreeId } from "#kernel";
import { partitionOf, type Principal } from "./auth.ts";

const most = 10_000;

/** Trees that were started here a moment ago: they are there, although the store may not have heard of them. */
export class RecentTrees {
  readonly #keys = new Set<string>();

  add(principal: Principal, tree: TreeId): void {
    this.#keys.add(Partition.key(partitionOf(principal), tree));
    for (const oldest of this.#keys) {
      if (this.#keys.size <= most) break;
      this.#keys.delete(oldest);
    }
  }

  has(principal: Principal, tree: TreeId): boolean {
    return this.#keys.has(Partition.key(partitionOf(principal), tree));
  }
}
