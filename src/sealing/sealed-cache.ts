import { type CacheEntry, KeyDestroyedError, Partition, type Store } from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/**
 * Seals cached answers: those that last with the key of the tenant, others with that of the tree they came from, so that
 * every copy of them ends with it. Other trees of the tenant can read them until then. Questions are named by a keyed hash of
 * the tenant, so no key of one tenant finds an answer of another, and the database tells nothing of them.
 */
export function sealedCache(cache: Store["cache"], contentOf: ContentOf): Store["cache"] {
  return {
    get: async (partition, key, now) => {
      const name = (await contentOf(partition)).digest(key);
      const kept = await cache.get(partition, name, now);
      if (!kept) return undefined;
      const value = openUnlessErased(await contentOf(partition, kept.treeId), kept);
      return value && { ...kept, ...value, key };
    },
    put: async (partition, entry, limits) => {
      const key = (await contentOf(partition)).digest(entry.key);
      const content = await contentOf(partition, entry.treeId);
      // The tree is over, or its user was erased: a worker that was left behind must not bring anything back.
      if (content.isErased)
        throw new KeyDestroyedError({ partition: Partition.key(partition, entry.treeId) });
      const sealing = entry.lasts ? content.lasting : content;
      const value = sealing.seal(placeOf({ ...entry, key }), entry.value);
      await cache.put(partition, { ...entry, key, value }, limits);
    },
    erase: (partition, tree) => cache.erase(partition, tree),
  };
}

/** Write access to the database is not enough to move an answer to another question, or to make it live longer. */
const placeOf = ({ key, until }: CacheEntry): string => `cache ${key} ${until}`;

function openUnlessErased(content: Content, kept: CacheEntry): Pick<CacheEntry, "value"> | undefined {
  try {
    return { value: content.open(placeOf(kept), kept.value) };
  } catch (error) {
    if (error instanceof KeyDestroyedError) return undefined;
    throw error;
  }
}
