import assert from "node:assert/strict";
import type { Fact, Json } from "#kernel";
import { ann, bob, type StoreCase, storeCase } from "./harness.ts";

const fact = (value: Json, validFrom: number, validTo: number | null = null): Fact => ({
  key: "city",
  value,
  validFrom,
  validTo,
});

export const factCases: readonly StoreCase[] = [
  storeCase(
    "a later fact ends an earlier one, which stays readable for its time",
    async ({ store, tenant }) => {
      await store.memory.remember(tenant, ann, fact("Bonn", 100));
      await store.memory.remember(tenant, ann, fact({ name: "Rome" }, 200));
      assert.deepEqual(await store.memory.recall(tenant, ann, {}), [
        fact("Bonn", 100, 200),
        fact({ name: "Rome" }, 200),
      ]);
      assert.deepEqual(await store.memory.recall(tenant, ann, { at: 199 }), [fact("Bonn", 100, 200)]);
      assert.deepEqual(await store.memory.recall(tenant, ann, { at: 200 }), [fact({ name: "Rome" }, 200)]);
      assert.deepEqual(await store.memory.recall(tenant, ann, { at: 99 }), []);
    },
  ),

  storeCase("a back-dated fact ends where the next one begins", async ({ store, tenant }) => {
    await store.memory.remember(tenant, ann, fact("Rome", 200));
    await store.memory.remember(tenant, ann, fact("Bonn", 100));
    await store.memory.remember(tenant, ann, fact("Oslo", 150, 900));
    const facts = await store.memory.recall(tenant, ann, { key: "city" });
    assert.deepEqual(facts, [fact("Bonn", 100, 150), fact("Oslo", 150, 200), fact("Rome", 200)]);
    assert.deepEqual(await store.memory.recall(tenant, ann, { at: 5_000 }), [fact("Rome", 200)]);
  }),

  storeCase("a fact with an end leaves nothing behind it, and never ends before it begins", async (desk) => {
    const { store, tenant } = desk;
    await store.memory.remember(tenant, ann, fact("Bonn", 100));
    await store.memory.remember(tenant, ann, fact("Rome", 200, 300));
    assert.deepEqual(await store.memory.recall(tenant, ann, { at: 300 }), []);
    await assert.rejects(store.memory.remember(tenant, ann, fact("Oslo", 400, 400)), TypeError);
  }),

  storeCase("the later word for the same moment holds", async ({ store, tenant }) => {
    await store.memory.remember(tenant, ann, fact("Bonn", 100));
    await store.memory.remember(tenant, ann, fact("Rome", 100));
    assert.deepEqual(await store.memory.recall(tenant, ann, {}), [fact("Rome", 100)]);
  }),

  storeCase("no user's fact touches another's, nor the anonymous one's", async ({ store, tenant }) => {
    await store.memory.remember(tenant, ann, fact("Bonn", 100));
    await store.memory.remember(tenant, bob, fact("Rome", 200));
    await store.memory.remember(tenant, null, fact("Oslo", 300));
    assert.deepEqual(await store.memory.recall(tenant, ann, {}), [fact("Bonn", 100)]);
    assert.deepEqual(await store.memory.recall(tenant, bob, {}), [fact("Rome", 200)]);
    assert.deepEqual(await store.memory.recall(tenant, null, {}), [fact("Oslo", 300)]);
  }),

  storeCase("facts of several keys are listed by key", async ({ store, tenant }) => {
    for (const key of ["b", "a", "c"]) await store.memory.remember(tenant, ann, { ...fact(key, 1), key });
    const facts = await store.memory.recall(tenant, ann, {});
    assert.deepEqual(
      facts.map(({ key, validTo }) => [key, validTo]),
      [
        ["a", null],
        ["b", null],
        ["c", null],
      ],
    );
    assert.equal((await store.memory.recall(tenant, ann, { key: "b" })).length, 1);
  }),
];
