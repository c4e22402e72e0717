import { KeyDestroyedError, type KeyStore, Partition, type TreeId, type WrappedKey } from "#kernel";
import { TenantMap } from "./tenant-map.ts";

export class MemoryKeys implements KeyStore {
  /** By tree; the empty name is the tenant's own key. Null: destroyed. */
  readonly byTenant = new TenantMap<WrappedKey | null>();

  async put(partition: Partition, tree: TreeId | null, key: WrappedKey): Promise<WrappedKey> {
    const before = this.#find(partition, tree);
    const isOther = before !== null && before.id !== key.id;
    const kept = isOther ? before : { id: key.id, wrapped: Uint8Array.from(key.wrapped) };
    this.byTenant.getItems(partition).set(tree ?? "", kept);
    return kept;
  }

  async get(partition: Partition, tree: TreeId | null): Promise<WrappedKey | null> {
    return this.#find(partition, tree);
  }

  async destroy(partition: Partition, tree: TreeId | null): Promise<void> {
    this.byTenant.getItems(partition).set(tree ?? "", null);
  }

  #find(partition: Partition, tree: TreeId | null): WrappedKey | null {
    const kept = this.byTenant.getItems(partition).get(tree ?? "");
    if (kept === null) throw new KeyDestroyedError({ partition: Partition.key(partition, tree) });
    return kept ?? null;
  }
}
