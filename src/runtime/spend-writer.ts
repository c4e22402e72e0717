import { LruMap } from "#base";
import { Partition, Spend, type Store, type TreeId, type TreeSpend } from "#kernel";
import type { ReplyOf } from "#tree";
import { type OnReduced, reduce, writeOrReduce } from "./reduce.ts";
import { concernsSpend, foldSpend, noSpend } from "./fold-spend.ts";

/** The rows are kept, however many. */
const reduceSpend = (spend: TreeSpend): TreeSpend => ({
  ...spend,
  rows: spend.rows.map(reduce),
  calls: spend.calls.map(reduce),
});

const eventsPerRead = 256;

/** Hours after which the figures of a tree are merged by day: 40 days. */
const treeHours = 40 * 24;

/** Writes the roll-up of money. A repeated batch, whole or in parts, changes nothing. */
export class SpendWriter {
  readonly #store: Store;
  readonly #now: () => number;
  /** The hour in which this process last merged old trees, by partition. */
  readonly #compacted = new LruMap<string, number>({ max: 1_000 });

  constructor({ store, now }: { readonly store: Store; readonly now: () => number }) {
    this.#store = store;
    this.#now = now;
  }

  async add(
    partition: Partition,
    tree: TreeId,
    { events, runs, onReduced }: ReplyOf<"drain"> & { readonly onReduced: OnReduced },
  ): Promise<void> {
    const [first] = events;
    if (!first || !concernsSpend(events)) return;
    const { spend } = this.#store;
    const none = noSpend(runs[0]?.userId ?? null);
    const known = first.seq === 1 ? none : ((await spend.tree(partition, tree)) ?? none);
    const before = await this.#catchUp(partition, tree, { known, upTo: first.seq - 1 });
    const put = (sums: TreeSpend): Promise<void> => spend.put(partition, tree, sums);
    await writeOrReduce(foldSpend(before, events), put, { shrink: reduceSpend, onReduced });
    await this.#compact(partition);
  }

  /**
   * Adds stored events that no batch with money has added: batches without money, and those of releases before the
   * roll-up.
   */
  async #catchUp(
    partition: Partition,
    tree: TreeId,
    { known, upTo }: { readonly known: TreeSpend; readonly upTo: number },
  ): Promise<TreeSpend> {
    let spend = known;
    while (spend.seq < upTo) {
      const limit = Math.min(eventsPerRead, upTo - spend.seq);
      const events = await this.#store.events.read(partition, tree, { after: spend.seq, limit });
      if (events.length === 0) return spend;
      spend = foldSpend(spend, events);
    }
    return spend;
  }

  async #compact(partition: Partition): Promise<void> {
    const hour = Spend.hourOf(this.#now());
    const key = Partition.key(partition);
    if (this.#compacted.get(key) === hour) return;
    this.#compacted.set(key, hour);
    await this.#store.spend.compact(partition, hour - treeHours);
  }
}
