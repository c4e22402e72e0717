import { randomBytes } from "node:crypto";
import { type Keys, type KeyStore, Partition, type WrappedKey } from "#kernel";
import type { Seal } from "./seal.ts";
import { Seals } from "./seals.ts";

/**
 * A key at random for each partition, kept in a store, wrapped with a key that is not in that database. So each can be
 * destroyed on its own, which derived keys cannot.
 */
export function storedKeys(store: KeyStore, wrapping: Keys): Keys {
  const seals = new Seals(wrapping);
  return {
    of: async (key) => {
      const { partition, tree } = Partition.parse(key);
      const seal = await seals.of(key);
      const kept = (await store.get(partition, tree)) ?? (await store.put(partition, tree, freshKey(seal)));
      return [{ id: kept.id, secret: seal.open(kept.wrapped) }];
    },
    destroy: async (key) => {
      const { partition, tree } = Partition.parse(key);
      await store.destroy(partition, tree);
    },
  };
}

function freshKey(seal: Seal): WrappedKey {
  return { id: randomBytes(9).toString("base64url"), wrapped: seal.seal(randomBytes(32)) };
}
