import { environmentKeys, storedKeys } from "reeve/store";
import { AesSeal } from "#sealing";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { type KeyStore, Partition, TenantId, TreeId } from "#kernel";

const wrapping = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });

test("each partition has its own key, the same for every caller", async () => {
  const store = memoryStore();
  const names = ["acme/books", "acme/other", "acme", "-", "-/books"];
  const asked = await Promise.all(
    names.map((name) => Promise.all([1, 2, 3].map(() => storedKeys(store.keys, wrapping).getRing(name)))),
  );
  for (const [first, ...others] of asked) expect(others).toEqual([first, first]);
  expect(new Set(asked.map(([ring]) => Buffer.from(ring?.[0].secret ?? []).toString("hex"))).size).toBe(5);
});

test("the store holds a key only as its wrapping key has sealed it", async () => {
  const store = memoryStore();
  const [key] = await storedKeys(store.keys, wrapping).getRing("acme/books");
  const kept = await store.keys.get({ tenantId: TenantId.of("acme") }, TreeId.of("books"));
  expect(kept?.id).toBe(key.id);
  expect(Buffer.from(kept?.wrapped ?? []).includes(Buffer.from(key.secret))).toBe(false);
  const other = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 8).toString("base64") });
  await expect(storedKeys(store.keys, other).getRing("acme/books")).rejects.toMatchObject({
    code: "seal-broken",
  });
});

test("a tenant's key is not asked for with every tree", async () => {
  const { keys: kept } = memoryStore();
  const asked: (string | null)[] = [];
  const counted: KeyStore = {
    put: (...given) => kept.put(...given),
    destroy: (...given) => kept.destroy(...given),
    get: (partition, tree) => {
      asked.push(tree);
      return kept.get(partition, tree);
    },
  };
  const keys = storedKeys(counted, wrapping);
  for (const tree of ["one", "two", "three"]) await keys.getRing(`acme/${tree}`);
  await keys.getRing("rival/one");
  expect(asked.filter((tree) => tree === null)).toHaveLength(2);
});

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64");

test("once its key is destroyed only lasting values can be opened, by every caller", async () => {
  const store = memoryStore();
  const keys = storedKeys(store.keys, wrapping);
  const seal = AesSeal.of("acme/books", await keys.getRing("acme/books"));
  const [fleeting, lasting] = [seal.seal(Buffer.from("gone")), seal.lasting.seal(Buffer.from("stays"))];
  expect(Buffer.from(seal.open(lasting)).toString()).toBe("stays");
  await keys.destroy?.("acme/books");
  const later = AesSeal.of("acme/books", await storedKeys(store.keys, wrapping).getRing("acme/books"));
  expect(Buffer.from(later.open(lasting)).toString()).toBe("stays");
  expect(Buffer.from(later.open(later.seal(Buffer.from("new")))).toString()).toBe("new");
  const destroyed = { code: "key-destroyed", partition: "acme/books" };
  expect(() => later.open(fleeting)).toThrow(expect.objectContaining(destroyed));
  await expect(keys.getRing("acme/other")).resolves.toHaveLength(2);
});

test("lasting values of one tree do not open for another, and are erased with the tenant's key", async () => {
  const store = memoryStore();
  const keys = storedKeys(store.keys, wrapping);
  const kept = AesSeal.of("acme/books", await keys.getRing("acme/books")).lasting.seal(Buffer.from("stays"));
  const other = AesSeal.of("acme/other", await keys.getRing("acme/other"));
  expect(() => other.open(kept)).toThrow(expect.objectContaining({ code: "seal-broken" }));
  await keys.destroy?.("acme");
  await expect(keys.getRing("acme/books")).rejects.toMatchObject({
    code: "key-destroyed",
    partition: "acme",
  });
});

test("a session that has the name of a tree is not sealed with that tree's key", async () => {
  const keys = storedKeys(memoryStore().keys, wrapping);
  const session = Partition.part({ tenantId: TenantId.of("acme") }, "books");
  const sealed = AesSeal.of(session, await keys.getRing(session)).seal(Buffer.from("turns"));
  await keys.destroy?.("acme/books");
  expect(Buffer.from(AesSeal.of(session, await keys.getRing(session)).open(sealed)).toString()).toBe("turns");
});

test("when the wrapping key is replaced, each key is wrapped again on use", async () => {
  const store = memoryStore();
  const before = await storedKeys(store.keys, wrapping).getRing("acme/books");
  const both = environmentKeys({ REEVE_KEY: keyOf(9), REEVE_KEY_PREVIOUS: keyOf(7) });
  expect(await storedKeys(store.keys, both).getRing("acme/books")).toEqual(before);
  const newOnly = environmentKeys({ REEVE_KEY: keyOf(9) });
  expect(await storedKeys(store.keys, newOnly).getRing("acme/books")).toEqual(before);
});
