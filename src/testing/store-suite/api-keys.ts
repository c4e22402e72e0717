import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ApiKeyRecord } from "#kernel";
import { type StoreCase, storeCase } from "./harness.ts";

const keyOf = (tenant: string | null): ApiKeyRecord => ({
  id: randomUUID(),
  hash: "0".repeat(64),
  tenant,
  scopes: ["read", "run"],
  expiresAt: 2_000,
});

export const apiKeyCases: readonly StoreCase[] = [
  storeCase("an API key is found by every process as it was put, and the first one stays", async (desk) => {
    const { store, harness } = desk;
    const [key, anonymous] = [keyOf("acme"), keyOf(null)];
    await store.apiKeys.put(key);
    await store.apiKeys.put(anonymous);
    await store.apiKeys.put({ ...key, tenant: "rival", scopes: ["admin"] });
    const elsewhere = await harness.open();
    assert.deepEqual(await elsewhere.apiKeys.find(key.id), key);
    assert.deepEqual(await elsewhere.apiKeys.find(anonymous.id), anonymous);
    assert.equal(await elsewhere.apiKeys.find(randomUUID()), null);
    await elsewhere[Symbol.asyncDispose]();
  }),

  storeCase("a tenant lists and revokes its own API keys, and nobody else's", async ({ store }) => {
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
];
