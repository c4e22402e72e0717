import assert from "node:assert/strict";
import { KeyDestroyedError, type WrappedKey } from "#kernel";
import { createTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const key = (...bytes: readonly number[]): WrappedKey => ({
  id: `k${bytes[0]}`,
  wrapped: Uint8Array.from(bytes),
});
const isDestroyed = (error: unknown): boolean => error instanceof KeyDestroyedError;

export const keyCases: readonly StoreCase[] = [
  storeCase("the first key of a tree stays", async ({ store, tenant }) => {
    assert.equal(await store.keys.get(tenant, tree), null);
    assert.deepEqual(await store.keys.put(tenant, tree, key(0, 255, 7)), key(0, 255, 7));
    assert.deepEqual(await store.keys.put(tenant, tree, key(1)), key(0, 255, 7));
    assert.deepEqual(await store.keys.get(tenant, tree), key(0, 255, 7));
    assert.equal(await store.keys.get(tenant, null), null);
    assert.equal(await store.keys.get(createTenant(), tree), null);
  }),

  storeCase("the same key may be wrapped again", async ({ store, tenant }) => {
    await store.keys.put(tenant, tree, key(1, 2));
    assert.deepEqual(await store.keys.put(tenant, tree, key(1, 3)), key(1, 3));
    assert.deepEqual(await store.keys.get(tenant, tree), key(1, 3));
  }),

  storeCase("both callers of two concurrent puts get the stored key", async ({ store, tenant }) => {
    const [one, other] = await Promise.all(
      [key(1), key(2)].map((each) => store.keys.put(tenant, tree, each)),
    );
    assert.deepEqual(one, other);
    assert.deepEqual(await store.keys.get(tenant, tree), one);
  }),

  storeCase("a destroyed key never comes back, and no other takes its place", async ({ store, tenant }) => {
    await store.keys.put(tenant, null, key(1));
    await store.keys.put(tenant, tree, key(2));
    await store.keys.destroy(tenant, tree);
    await store.keys.destroy(tenant, tree);
    await assert.rejects(store.keys.get(tenant, tree), isDestroyed);
    await assert.rejects(store.keys.put(tenant, tree, key(3)), isDestroyed);
    assert.deepEqual(await store.keys.get(tenant, null), key(1));
  }),

  storeCase("a key can be destroyed before it exists", async ({ store, tenant }) => {
    await store.keys.destroy(tenant, tree);
    await assert.rejects(store.keys.put(tenant, tree, key(1)), isDestroyed);
  }),
];
