import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type ApiKeyRecord, Partition, type UserId } from "#kernel";
import { ann, bob, type StoreCase, storeCase } from "./harness.ts";

const keyOf = (tenant: string | null, user: UserId | null = null): ApiKeyRecord => ({
  id: randomUUID(),
  hash: "0".repeat(64),
  tenant,
  user,
  scopes: ["read", "run"],
  expiresAt: 2_000,
  ...(tenant !== null && {
    limits: { budget: { maxCostUsd: 1.5 }, priority: "low", maxAgents: 3 },
  }),
});

export const apiKeyCases: readonly StoreCase[] = [
  storeCase(
    "an API key is found unchanged by every process, and the first one stored stays",
    async (desk) => {
      const { store, harness } = desk;
      const [key, anonymous, bound] = [keyOf("acme"), keyOf(null), keyOf("acme", ann)];
      await store.apiKeys.put(key);
      await store.apiKeys.put(bound);
      await store.apiKeys.put(anonymous);
      await store.apiKeys.put({ ...key, tenant: "rival", scopes: ["admin"] });
      const elsewhere = await harness.open();
      assert.deepEqual(await elsewhere.apiKeys.find(key.id), key);
      assert.deepEqual(await elsewhere.apiKeys.find(anonymous.id), anonymous);
      assert.deepEqual(await elsewhere.apiKeys.find(bound.id), bound);
      assert.equal(await elsewhere.apiKeys.find(randomUUID()), null);
      await elsewhere[Symbol.asyncDispose]();
    },
  ),

  storeCase("a tenant lists and revokes only its own API keys", async ({ store }) => {
    const [acme, rival] = [`acme-${randomUUID()}`, `rival-${randomUUID()}`];
    const [one, other, theirs] = [keyOf(acme), keyOf(acme), keyOf(rival)];
    for (const key of [one, other, theirs]) await store.apiKeys.put(key);
    const own = [one, other].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(await store.apiKeys.list(acme), own);
    await store.apiKeys.revoke(acme, theirs.id);
    await store.apiKeys.revoke(null, theirs.id);
    assert.deepEqual(await store.apiKeys.list(rival), [theirs]);
    await store.apiKeys.revoke(acme, one.id);
    await store.apiKeys.revoke(acme, one.id);
    assert.deepEqual([await store.apiKeys.find(one.id), await store.apiKeys.list(acme)], [null, [other]]);
  }),

  storeCase("erasing a user revokes the keys bound to that user, and no others", async ({ store }) => {
    const [acme, rival] = [`acme-${randomUUID()}`, `rival-${randomUUID()}`];
    const bound = keyOf(acme, ann);
    const others = [keyOf(acme), keyOf(acme, bob), keyOf(rival, ann), keyOf(null, ann)];
    for (const key of [bound, ...others]) await store.apiKeys.put(key);
    await store.eraseUser(Partition.of(acme), ann);
    await store.eraseUser(Partition.of(acme), null);
    assert.equal(await store.apiKeys.find(bound.id), null);
    for (const key of others) assert.deepEqual(await store.apiKeys.find(key.id), key);
  }),
];
