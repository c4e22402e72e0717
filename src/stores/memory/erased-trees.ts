import { Partition, type TreeId } from "#kernel";

/** The parts of trees that were erased for good: they are not written any more. */
export class ErasedTrees {
  readonly #content = new Set<string>();
  readonly #records = new Set<string>();

  addContent(partition: Partition, tree: TreeId): void {
    this.#content.add(Partition.key(partition, tree));
  }

  addRecords(partition: Partition, tree: TreeId): void {
    this.#records.add(Partition.key(partition, tree));
  }

  /** Whether the content of a tree was erased. */
  hasContent(partition: Partition, tree: TreeId): boolean {
    return this.#content.size > 0 && this.#content.has(Partition.key(partition, tree));
  }

  /** Whether the runs, events and approvals of a tree were erased. */
  hasRecords(partition: Partition, tree: TreeId): boolean {
    return this.#records.size > 0 && this.#records.has(Partition.key(partition, tree));
  }
}
