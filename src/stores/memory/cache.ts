import type { CacheEntry, CacheLimits, CacheStore, Partition, TreeId } from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { copy, TenantMap } from "./tenant-map.ts";

interface SizedEntry {
  readonly entry: CacheEntry;
  readonly size: number;
}

export class MemoryCacheStore implements CacheStore {
  /** The oldest first. */
  readonly byTenant = new TenantMap<SizedEntry>();

  readonly #erased: ErasedTrees;

  constructor(erased: ErasedTrees) {
    this.#erased = erased;
  }

  async get(partition: Partition, key: string, now: number): Promise<CacheEntry | undefined> {
    const entry = this.byTenant.getItems(partition).get(key)?.entry;
    return entry && entry.until > now ? copy(entry) : undefined;
  }

  async put(partition: Partition, entry: CacheEntry, { max, maxBytes }: CacheLimits): Promise<void> {
    const size = Buffer.byteLength(JSON.stringify(entry.value));
    if (size > maxBytes || max < 1 || this.#erased.hasContent(partition, entry.treeId)) return;
    const kept = this.byTenant.getItems(partition);
    kept.delete(entry.key);
    kept.set(entry.key, { entry: copy(entry), size });
    for (const [key, { entry: old }] of kept) if (old.until <= entry.at) kept.delete(key);
    let bytes = kept.values().reduce((sum, each) => sum + each.size, 0);
    for (const [key, oldest] of kept) {
      if (bytes <= maxBytes && kept.size <= max) return;
      kept.delete(key);
      bytes -= oldest.size;
    }
  }

  async erase(
    partition: Partition,
    tree: TreeId,
    { lasting = false }: { readonly lasting?: boolean } = {},
  ): Promise<void> {
    const kept = this.byTenant.getItems(partition);
    for (const [key, { entry }] of kept)
      if (entry.treeId === tree && (lasting || !entry.isPermanent)) kept.delete(key);
  }
}
