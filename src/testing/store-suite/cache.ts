import assert from "node:assert/strict";
import { TreeId, type CacheEntry, type CacheStore, type Partition } from "#kernel";
import { ann, bob, createTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const roomy = { max: 1_000, maxBytes: 1_000_000 };
const now = 1_000;

const entryOf = (key: string, given: Partial<CacheEntry> = {}): CacheEntry => ({
  key,
  value: { said: `answer to ${key}` },
  at: now,
  until: now + 60_000,
  treeId: tree,
  userId: ann,
  isPermanent: true,
  ...given,
});

const findKeys = async (
  cache: CacheStore,
  tenant: Partition,
  { keys, at = now }: { readonly keys: readonly string[]; readonly at?: number },
): Promise<readonly string[]> => {
  const entries = await Promise.all(keys.map((key) => cache.get(tenant, key, at)));
  return entries.flatMap((entry) => entry?.key ?? []);
};

export const cacheCases: readonly StoreCase[] = [
  storeCase("a cached answer is found by its key within its tenant until it expires", async (desk) => {
    const { store, tenant } = desk;
    const { cache } = store;
    const entry = entryOf("a");
    await cache.put(tenant, entry, roomy);
    assert.deepEqual(await cache.get(tenant, "a", now), entry);
    assert.deepEqual(await cache.get(tenant, "a", entry.until - 1), entry);
    assert.equal(await cache.get(tenant, "a", entry.until), undefined);
    assert.equal(await cache.get(tenant, "b", now), undefined);
    assert.equal(await cache.get(createTenant(), "a", now), undefined);
    const other = await desk.harness.open();
    try {
      assert.deepEqual(await other.cache.get(tenant, "a", now), entry);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),

  storeCase("the last answer to a question replaces the one before", async ({ store: { cache }, tenant }) => {
    await cache.put(tenant, entryOf("a", { isPermanent: false }), roomy);
    const last = entryOf("a", { value: [null, "é", 1.5], at: now + 1, userId: null });
    await cache.put(tenant, last, roomy);
    assert.deepEqual(await cache.get(tenant, "a", now), last);
  }),

  storeCase("one complete answer of many concurrent writers stays", async ({ store, tenant, harness }) => {
    const other = await harness.open();
    try {
      const values = Array.from({ length: 20 }, (_, n) => `answer ${n}`.repeat(100));
      await Promise.all(
        values.map((value, n) =>
          (n % 2 ? store : other).cache.put(tenant, entryOf("a", { value, at: now + n }), {
            ...roomy,
            max: 1,
          }),
        ),
      );
      const entry = await store.cache.get(tenant, "a", now);
      assert.ok(entry && values.some((value) => value === entry.value));
      assert.deepEqual(await other.cache.get(tenant, "a", now), entry);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),

  storeCase(
    "above the limit on entries the tenant's oldest entries are removed",
    async ({ store: { cache }, tenant }) => {
      const limits = { ...roomy, max: 3 };
      const [keys, elsewhere] = [["a", "b", "c", "d", "e"], createTenant()];
      await cache.put(elsewhere, entryOf("a", { at: 1 }), limits);
      for (const [n, key] of keys.entries()) await cache.put(tenant, entryOf(key, { at: now + n }), limits);
      assert.deepEqual(await findKeys(cache, tenant, { keys }), ["c", "d", "e"]);
      assert.deepEqual(await findKeys(cache, elsewhere, { keys }), ["a"]);
    },
  ),

  storeCase(
    "above the limit on bytes the oldest entries are removed, and a too large entry is not kept",
    async ({ store: { cache }, tenant }) => {
      const limits = { ...roomy, maxBytes: 30_000 };
      const keys = ["a", "b", "c", "d", "huge"];
      const value = "x".repeat(7_000);
      for (const [n, key] of keys.entries())
        await cache.put(
          tenant,
          entryOf(key, { at: now + n, value: key === "huge" ? value.repeat(9) : value }),
          limits,
        );
      const kept = await findKeys(cache, tenant, { keys });
      // A sealed value has more bytes than the plain one.
      assert.ok(kept.length >= 3 && kept.length <= 4, kept.join());
      assert.deepEqual(kept, ["a", "b", "c", "d"].slice(-kept.length));
    },
  ),

  storeCase("an expired answer makes room before one that is older", async ({ store: { cache }, tenant }) => {
    const limits = { ...roomy, max: 2 };
    await cache.put(tenant, entryOf("old", { at: now }), limits);
    await cache.put(tenant, entryOf("expired", { at: now + 1, until: now + 2 }), limits);
    await cache.put(tenant, entryOf("new", { at: now + 3 }), limits);
    assert.deepEqual(await findKeys(cache, tenant, { keys: ["old", "expired", "new"] }), ["old", "new"]);
  }),

  storeCase("erasing a tree removes its answers that do not last", async ({ store: { cache }, tenant }) => {
    const treeId = TreeId.of("other");
    await cache.put(tenant, entryOf("gone", { isPermanent: false }), roomy);
    await cache.put(tenant, entryOf("permanent"), roomy);
    await cache.put(tenant, entryOf("other", { isPermanent: false, treeId }), roomy);
    await cache.erase(tenant, tree);
    await cache.erase(tenant, tree);
    assert.deepEqual(await findKeys(cache, tenant, { keys: ["gone", "permanent", "other"] }), [
      "permanent",
      "other",
    ]);
  }),

  storeCase("erasing a user removes the answers of the user's trees", async ({ store, tenant }) => {
    const { cache } = store;
    const elsewhere = createTenant();
    await cache.put(tenant, entryOf("ann"), roomy);
    await cache.put(tenant, entryOf("bob", { userId: bob, treeId: TreeId.of("of-bob") }), roomy);
    await cache.put(tenant, entryOf("none", { userId: null, treeId: TreeId.of("of-none") }), roomy);
    await cache.put(elsewhere, entryOf("ann"), roomy);
    await store.eraseUser(tenant, ann);
    assert.deepEqual(await findKeys(cache, tenant, { keys: ["ann", "bob", "none"] }), ["bob", "none"]);
    assert.deepEqual(await findKeys(cache, elsewhere, { keys: ["ann"] }), ["ann"]);
  }),
];
