import { type EventStore, type NumberedEvent, Partition, type TreeId, upgradeEvent } from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { TenantMap } from "./tenant-map.ts";

const eventsPerLook = 256;

export class MemoryEvents implements EventStore {
  readonly byTenant = new TenantMap<Map<number, NumberedEvent>>();
  readonly #waiting = new Set<() => void>();
  /** Subscribers to all trees of a tenant, by tenant. */
  readonly #ears = new Map<string, Set<() => void>>();

  readonly #erased: ErasedTrees;

  constructor(erased: ErasedTrees) {
    this.#erased = erased;
  }

  async append(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void> {
    if (this.#erased.hasRecords(partition, tree)) return;
    const trees = this.byTenant.getItems(partition);
    const kept = trees.get(tree) ?? new Map<number, NumberedEvent>();
    trees.set(tree, kept);
    // Events are never changed: they need no copy.
    for (const event of events) if (!kept.has(event.seq)) kept.set(event.seq, event);
    for (const look of this.#waiting) look();
    for (const hear of this.#ears.get(Partition.key(partition)) ?? []) hear();
  }

  async rewrite(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void> {
    const kept = this.#getEvents(partition, tree);
    for (const event of events) if (kept.has(event.seq)) kept.set(event.seq, event);
  }

  async read(
    partition: Partition,
    tree: TreeId,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly NumberedEvent[]> {
    const kept = this.#getEvents(partition, tree);
    const found: NumberedEvent[] = [];
    for (let seq = after + 1; found.length < limit; seq += 1) {
      const event = kept.get(seq);
      if (!event) break;
      found.push(upgradeEvent(event));
    }
    return found;
  }

  async waitForEvents(
    partition: Partition,
    tree: TreeId,
    { after, signal }: { readonly after: number; readonly signal: AbortSignal },
  ): Promise<readonly NumberedEvent[]> {
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (signal.aborted) reject(signal.reason);
        else if (this.#getEvents(partition, tree).has(after + 1)) resolve();
        else return;
        this.#waiting.delete(look);
        signal.removeEventListener("abort", look);
      };
      this.#waiting.add(look);
      signal.addEventListener("abort", look);
      look();
    });
    return this.read(partition, tree, { after, limit: eventsPerLook });
  }

  async *changes(
    partition: Partition,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<void, void> {
    const key = Partition.key(partition);
    let sign = Promise.withResolvers<void>();
    const hear = (): void => sign.resolve();
    const ears = this.#ears.get(key) ?? new Set();
    this.#ears.set(key, ears.add(hear));
    signal.addEventListener("abort", hear);
    try {
      for (;;) {
        signal.throwIfAborted();
        sign = Promise.withResolvers();
        yield;
        await sign.promise;
      }
    } finally {
      signal.removeEventListener("abort", hear);
      ears.delete(hear);
      if (ears.size === 0) this.#ears.delete(key);
    }
  }

  /** Creates nothing: a removed tree must not reappear. */
  #getEvents(partition: Partition, tree: TreeId): Map<number, NumberedEvent> {
    return this.byTenant.getItems(partition).get(tree) ?? new Map<number, NumberedEvent>();
  }
}
