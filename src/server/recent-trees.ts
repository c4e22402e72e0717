import { Partition, type TreeId, type UserId } from "#kernel";
import { LruMap } from "#base";
import { partitionOf, type Principal } from "./auth.ts";

const maxTrees = 10_000;

/** Trees started by this process a moment ago. They exist, although the store may not list them yet. */
export class RecentTrees {
  readonly #users = new LruMap<string, { readonly user: UserId | null }>({ max: maxTrees });

  /** `user`: the one that the tree works for. */
  add(principal: Principal, tree: TreeId, user: UserId | null): void {
    this.#users.set(Partition.key(partitionOf(principal), tree), { user });
  }

  /** Returns the user of a tree. Undefined if this process did not start the tree recently. */
  userOf(principal: Principal, tree: TreeId): UserId | null | undefined {
    return this.#users.get(Partition.key(partitionOf(principal), tree))?.user;
  }
}
