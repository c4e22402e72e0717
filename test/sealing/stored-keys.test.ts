import { environmentKeys, storedKeys } from "reeve/sealing";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { TenantId, TreeId } from "#kernel";

const wrapping = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });

test("each partition has a key of its own, the same for everybody who asks", async () => {
  const store = memoryStore();
  const names = ["acme/books", "acme/other", "acme", "-", "-/books"];
  const asked = await Promise.all(
    names.map((name) => Promise.all([1, 2, 3].map(() => storedKeys(store.keys, wrapping).of(name)))),
  );
  for (const [first, ...others] of asked) expect(others).toEqual([first, first]);
  expect(new Set(asked.map(([ring]) => Buffer.from(ring?.[0].secret ?? []).toString("hex"))).size).toBe(5);
});

test("the store holds a key only as its wrapping key has sealed it", async () => {
  const store = memoryStore();
  const [key] = await storedKeys(store.keys, wrapping).of("acme/books");
  const kept = await store.keys.get({ tenantId: TenantId.of("acme") }, TreeId.of("books"));
  expect(kept?.id).toBe(key.id);
  expect(Buffer.from(kept?.wrapped ?? []).includes(Buffer.from(key.secret))).toBe(false);
  const other = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 8).toString("base64") });
  await expect(storedKeys(store.keys, other).of("acme/books")).rejects.toMatchObject({ code: "seal-broken" });
});

test("a destroyed key is gone for everybody, and no other is made", async () => {
  const store = memoryStore();
  const keys = storedKeys(store.keys, wrapping);
  await keys.of("acme/books");
  await keys.of("acme/other");
  await keys.destroy?.("acme/books");
  await expect(storedKeys(store.keys, wrapping).of("acme/books")).rejects.toMatchObject({
    code: "key-destroyed",
    partition: "acme/books",
  });
  await expect(keys.of("acme/other")).resolves.toHaveLength(1);
});
