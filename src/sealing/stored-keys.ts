import { hkdfSync, randomBytes } from "node:crypto";
import {
  KeyDestroyedError,
  type Keys,
  type KeyStore,
  Partition,
  type SealingKey,
  type TreeId,
  type WrappedKey,
} from "#kernel";
import { LruMap } from "#base";
import type { AesSeal } from "./seal.ts";
import { Seals } from "./seals.ts";

/** Maximum age of a tenant's cached key. Short, because a destroyed key must not survive here. */
const knownMs = 5_000;
const mostKnown = 1_000;

/**
 * Returns random keys, one for each tenant and each tree, stored wrapped with a key that is not in that database. So
 * each can be destroyed separately, which derived keys cannot. Lasting values of a tree are sealed with a key derived
 * from its tenant's. If the wrapping key was replaced, each key is wrapped again when it is next used.
 */
export function storedKeys(store: KeyStore, wrapping: Keys): Keys {
  const seals = new Seals(wrapping);

  async function keyOf(partition: Partition, tree: TreeId | null): Promise<SealingKey> {
    const seal = await seals.getSeal(Partition.key(partition, tree));
    const kept = (await store.get(partition, tree)) ?? (await store.put(partition, tree, freshKey(seal)));
    const secret = seal.open(kept.wrapped);
    if (!seal.isNewest(kept.wrapped))
      await store.put(partition, tree, { id: kept.id, wrapped: seal.seal(secret) });
    return { id: kept.id, secret };
  }

  const known = new LruMap<string, { readonly key: Promise<SealingKey>; readonly until: number }>({
    max: mostKnown,
  });

  /** Returns the tenant's key. Cached, because every new tree needs it. */
  function tenantKey(partition: Partition): Promise<SealingKey> {
    const name = Partition.key(partition);
    const found = known.get(name);
    if (found && found.until > Date.now()) return found.key;
    const key = keyOf(partition, null);
    known.set(name, { key, until: Date.now() + knownMs });
    key.catch(() => known.delete(name));
    return key;
  }

  /** Returns the tree's key. Null once it was destroyed. */
  async function treeKey(partition: Partition, tree: TreeId): Promise<SealingKey | null> {
    try {
      return await keyOf(partition, tree);
    } catch (error) {
      if (error instanceof KeyDestroyedError) return null;
      throw error;
    }
  }

  return {
    getRing: async (key) => {
      const { partition, tree } = Partition.parse(key);
      const following = keyFrom(await tenantKey(partition), key);
      if (tree === null) return [following];
      const lasting = { ...following, lasting: true };
      const own = await treeKey(partition, tree);
      return own ? [own, lasting] : [lasting];
    },
    destroy: async (key) => {
      const { partition, tree } = Partition.parse(key);
      await store.destroy(partition, tree);
      if (tree === null) known.delete(Partition.key(partition));
    },
  };
}

function keyFrom({ id, secret }: SealingKey, partition: string): SealingKey {
  const derived = hkdfSync("sha256", secret, "", `reeve lasting 1\n${partition}`, 32);
  return { id, secret: new Uint8Array(derived) };
}

function freshKey(seal: AesSeal): WrappedKey {
  return { id: randomBytes(9).toString("base64url"), wrapped: seal.seal(randomBytes(32)) };
}
