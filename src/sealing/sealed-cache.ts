import { type CacheEntry, KeyDestroyedError, Partition, type Store } from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/**
 * Seals cached answers: lasting ones with the tenant's key, others with the key of their tree, so that every copy
 * becomes unreadable with it. Until then, other trees of the tenant can read them. Cache keys are stored as keyed
 * hashes of the tenant. So no tenant finds an answer of another, and the database reveals nothing about the requests.
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
      // The tree has ended, or its user was erased: a superseded worker must not write content again.
      if (content.isErased)
        throw new KeyDestroyedError({ partition: Partition.key(partition, entry.treeId) });
      const sealing = entry.isPermanent ? content.lasting : content;
      const value = sealing.seal(toCacheContext({ ...entry, key }), entry.value);
      await cache.put(partition, { ...entry, key, value }, limits);
    },
    erase: (partition, tree, options) => cache.erase(partition, tree, options),
  };
}

/**
 * Returns the position that an answer is sealed for. It contains key and expiry, so write access to the database is not
 * enough to move an answer to another key, or to extend its life.
 */
const toCacheContext = ({ key, until }: CacheEntry): string => `cache ${key} ${until}`;

function openUnlessErased(content: Content, kept: CacheEntry): Pick<CacheEntry, "value"> | undefined {
  try {
    return { value: content.open(toCacheContext(kept), kept.value) };
  } catch (error) {
    if (error instanceof KeyDestroyedError) return undefined;
    throw error;
  }
}
