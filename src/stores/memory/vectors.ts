import {
  MemoryHit,
  MemoryItem,
  MemoryOwner,
  MemoryVector,
  type Partition,
  type SessionKey,
  type UserId,
  type VectorPosition,
  type VectorQuery,
  type VectorStore,
} from "#kernel";
import { copy, TenantMap } from "./tenant-map.ts";

export class MemoryVectors implements VectorStore {
  /** By owner, then by item and embedder. */
  readonly #byTenant = new TenantMap<Map<string, MemoryVector>>();

  async put(partition: Partition, owner: MemoryOwner, vectors: readonly MemoryVector[]): Promise<void> {
    vectors.forEach(MemoryVector.check);
    const key = MemoryOwner.key(owner);
    const own = this.#byTenant.getItems(partition).get(key) ?? new Map<string, MemoryVector>();
    this.#byTenant.getItems(partition).set(key, own);
    for (const vector of vectors) own.set(toVectorKey(vector), copy(vector));
  }

  async search(
    partition: Partition,
    owner: MemoryOwner,
    { embedder, vector, kinds, limit }: VectorQuery,
  ): Promise<readonly MemoryHit[]> {
    MemoryVector.check({ vector });
    const hits = this.#listOwn(partition, owner)
      .filter((each) => each.embedder === embedder && each.vector.length === vector.length)
      .filter(({ item }) => kinds === undefined || kinds.includes(item.kind))
      .map((each) => ({
        owner,
        item: each.item,
        score: MemoryVector.cosine(each.vector, vector),
        at: each.at,
      }));
    return MemoryHit.best(hits, limit);
  }

  async remove(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void> {
    this.drop(partition, owner, items);
  }

  drop(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): void {
    const gone = new Set(items.map(MemoryItem.key));
    const own = this.#byTenant.getItems(partition).get(MemoryOwner.key(owner));
    for (const [key, { item }] of own ?? []) if (gone.has(MemoryItem.key(item))) own?.delete(key);
  }

  async list(
    partition: Partition,
    owner: MemoryOwner,
    { after, limit }: { readonly after: VectorPosition | null; readonly limit: number },
  ): Promise<readonly MemoryVector[]> {
    return this.#listOwn(partition, owner)
      .filter((vector) => after === null || toVectorKey(vector) > toVectorKey(after))
      .toSorted((a, b) => (toVectorKey(a) < toVectorKey(b) ? -1 : 1))
      .slice(0, limit)
      .map(copy);
  }

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    const owners = this.#byTenant.getItems(partition);
    const own = MemoryOwner.key(MemoryOwner.user(user));
    const sessions = MemoryOwner.sessionsPrefix(user);
    for (const key of owners.keys()) if (key === own || key.startsWith(sessions)) owners.delete(key);
  }

  async eraseSession(partition: Partition, session: SessionKey): Promise<void> {
    const owners = this.#byTenant.getItems(partition);
    owners.delete(MemoryOwner.key(MemoryOwner.session(session)));
    const own = owners.get(MemoryOwner.key(MemoryOwner.user(session.userId)));
    const prefix = MemoryItem.episodesPrefix(session.id);
    for (const key of own?.keys() ?? []) if (key.startsWith(prefix)) own?.delete(key);
  }

  #listOwn(partition: Partition, owner: MemoryOwner): MemoryVector[] {
    return [...(this.#byTenant.getItems(partition).get(MemoryOwner.key(owner))?.values() ?? [])];
  }
}

const toVectorKey = ({ item, embedder }: VectorPosition): string => `${MemoryItem.key(item)}\n${embedder}`;
