import assert from "node:assert/strict";
import { type Fact, type Json, Labels, MemoryItem, MemoryOwner } from "#kernel";
import { annOwns, bobOwns, factOf, root, type StoreCase, storeCase } from "./harness.ts";

/** Written under an id that value and beginning make. */
const fact = (value: Json, validFrom: number, validTo: number | null = null): Fact =>
  factOf(`${JSON.stringify(value)}-${validFrom}`, { value, validFrom, validTo });

const fetched = {
  kind: "tool",
  name: "fetch",
  runId: root,
  stepId: null,
  untrusted: true,
  private: false,
} as const;

export const factCases: readonly StoreCase[] = [
  storeCase(
    "a later fact ends an earlier one, which stays readable for its time",
    async ({ store, tenant }) => {
      await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
      await store.memory.remember(tenant, annOwns, fact({ name: "Rome" }, 200));
      assert.deepEqual(await store.memory.recall(tenant, annOwns, {}), [
        fact("Bonn", 100, 200),
        fact({ name: "Rome" }, 200),
      ]);
      assert.deepEqual(await store.memory.recall(tenant, annOwns, { at: 199 }), [fact("Bonn", 100, 200)]);
      assert.deepEqual(await store.memory.recall(tenant, annOwns, { at: 200 }), [
        fact({ name: "Rome" }, 200),
      ]);
      assert.deepEqual(await store.memory.recall(tenant, annOwns, { at: 99 }), []);
    },
  ),

  storeCase("a back-dated fact ends where the next one begins", async ({ store, tenant }) => {
    await store.memory.remember(tenant, annOwns, fact("Rome", 200));
    await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
    await store.memory.remember(tenant, annOwns, fact("Oslo", 150, 900));
    const facts = await store.memory.recall(tenant, annOwns, { key: "city" });
    assert.deepEqual(facts, [fact("Bonn", 100, 150), fact("Oslo", 150, 200), fact("Rome", 200)]);
    assert.deepEqual(await store.memory.recall(tenant, annOwns, { at: 5_000 }), [fact("Rome", 200)]);
  }),

  storeCase(
    "no fact is valid after the end of the last one, and a fact that ends before it begins is refused",
    async (desk) => {
      const { store, tenant } = desk;
      await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
      await store.memory.remember(tenant, annOwns, fact("Rome", 200, 300));
      assert.deepEqual(await store.memory.recall(tenant, annOwns, { at: 300 }), []);
      await assert.rejects(store.memory.remember(tenant, annOwns, fact("Oslo", 400, 400)), TypeError);
    },
  ),

  storeCase("an owner has no more facts than its limit, with their history", async ({ store, tenant }) => {
    const { memory } = store;
    const remember = (owner: MemoryOwner, told: Fact): Promise<unknown> =>
      memory.remember(tenant, owner, told, { maxFacts: 3 });
    for (const at of [100, 200, 300]) await remember(annOwns, fact("Bonn", at));
    await assert.rejects(remember(annOwns, fact("Rome", 400)), RangeError);
    // Neither a repeated write nor another value for a moment adds a fact. Other owners have their own.
    await remember(annOwns, fact("Bonn", 300));
    await remember(annOwns, fact("Oslo", 300));
    await remember(bobOwns, fact("Rome", 400));
    await memory.forget(tenant, annOwns, { id: "forget", fact: fact("Bonn", 100).id });
    await remember(annOwns, fact("Rome", 400));
    const facts = await memory.recall(tenant, annOwns, {});
    assert.deepEqual(
      facts.map(({ value }) => value),
      ["Bonn", "Oslo", "Rome"],
    );
  }),

  storeCase("the later fact for the same moment wins", async ({ store, tenant }) => {
    await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
    await store.memory.remember(tenant, annOwns, fact("Rome", 100));
    assert.deepEqual(await store.memory.recall(tenant, annOwns, {}), [fact("Rome", 100)]);
  }),

  storeCase(
    "a user's fact changes no fact of another user or of the anonymous user",
    async ({ store, tenant }) => {
      await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
      await store.memory.remember(tenant, bobOwns, fact("Rome", 200));
      await store.memory.remember(tenant, MemoryOwner.user(null), fact("Oslo", 300));
      assert.deepEqual(await store.memory.recall(tenant, annOwns, {}), [fact("Bonn", 100)]);
      assert.deepEqual(await store.memory.recall(tenant, bobOwns, {}), [fact("Rome", 200)]);
      assert.deepEqual(await store.memory.recall(tenant, MemoryOwner.user(null), {}), [fact("Oslo", 300)]);
    },
  ),

  storeCase("facts of several keys are listed by key", async ({ store, tenant }) => {
    for (const key of ["b", "a", "c"]) await store.memory.remember(tenant, annOwns, factOf(key, { key }));
    const facts = await store.memory.recall(tenant, annOwns, {});
    assert.deepEqual(
      facts.map(({ key, validTo }) => [key, validTo]),
      [
        ["a", null],
        ["b", null],
        ["c", null],
      ],
    );
    assert.equal((await store.memory.recall(tenant, annOwns, { key: "b" })).length, 1);
  }),

  storeCase("a fact keeps its writer, its labels and the time it was recorded", async ({ store, tenant }) => {
    const labels = { ...Labels.of({ untrusted: true }), sources: [fetched] };
    const told = factOf("f1", { recordedAt: 77, runId: root, labels, value: [1, null, { a: "\u0000" }] });
    await store.memory.remember(tenant, annOwns, told);
    assert.deepEqual(await store.memory.recall(tenant, annOwns, { ids: ["f1", "none"] }), [told]);
    assert.deepEqual(await store.memory.recall(tenant, annOwns, { ids: [] }), []);
  }),

  storeCase("a fact read by its id ends where the next of its key begins", async ({ store, tenant }) => {
    await store.memory.remember(tenant, annOwns, fact("Bonn", 100));
    await store.memory.remember(tenant, annOwns, fact("Rome", 200));
    const { id } = fact("Bonn", 100);
    assert.deepEqual(await store.memory.recall(tenant, annOwns, { ids: [id] }), [fact("Bonn", 100, 200)]);
  }),

  storeCase(
    "remembering a fact again changes nothing, even after it was replaced or forgotten",
    async (desk) => {
      const { memory } = desk.store;
      const remember = (value: Json, validFrom: number): Promise<unknown> =>
        memory.remember(desk.tenant, annOwns, fact(value, validFrom), { terms: ["city"] });
      assert.deepEqual(await remember("Bonn", 100), []);
      const replaced = await remember("Rome", 100);
      assert.deepEqual(replaced, [MemoryItem.fact(fact("Bonn", 100).id)]);
      assert.deepEqual(await remember("Rome", 100), replaced);
      assert.deepEqual(await remember("Bonn", 100), []);
      assert.deepEqual(await memory.recall(desk.tenant, annOwns, {}), [fact("Rome", 100)]);
      const hits = await memory.search(desk.tenant, annOwns, { terms: ["city"], limit: 9 });
      assert.deepEqual(
        hits.map(({ item }) => item),
        [MemoryItem.fact(fact("Rome", 100).id)],
      );
      await memory.forget(desk.tenant, annOwns, { id: "forget", key: "city" });
      await remember("Rome", 100);
      assert.deepEqual(await memory.recall(desk.tenant, annOwns, {}), []);
    },
  ),

  storeCase("forgetting a fact removes its history and its terms, once", async ({ store, tenant }) => {
    const { memory } = store;
    for (const told of [fact("Bonn", 100), fact("Rome", 200), factOf("tea", { key: "drink" })])
      await memory.remember(tenant, annOwns, told, { terms: ["word"] });
    await memory.remember(tenant, bobOwns, fact("Bonn", 100), { terms: ["word"] });
    const erased = await memory.forget(tenant, annOwns, { id: "forget-1", key: "city" });
    assert.deepEqual(erased.length, 2);
    assert.deepEqual(await memory.recall(tenant, annOwns, {}), [factOf("tea", { key: "drink" })]);
    const hits = await memory.search(tenant, annOwns, { terms: ["word"], limit: 9 });
    assert.deepEqual(
      hits.map(({ item }) => item),
      [MemoryItem.fact("tea")],
    );
    await memory.remember(tenant, annOwns, fact("Oslo", 300));
    assert.deepEqual(await memory.forget(tenant, annOwns, { id: "forget-1", key: "city" }), erased);
    assert.deepEqual(await memory.recall(tenant, annOwns, { key: "city" }), [fact("Oslo", 300)]);
    await memory.forget(tenant, annOwns, { id: "forget-2", fact: "tea" });
    assert.deepEqual(await memory.recall(tenant, annOwns, {}), [fact("Oslo", 300)]);
    assert.deepEqual(await memory.recall(tenant, bobOwns, {}), [fact("Bonn", 100)]);
  }),

  storeCase("two writers of one moment at once leave one fact, and only its terms", async (desk) => {
    const { store, tenant, harness } = desk;
    const other = await harness.open();
    try {
      const ids = Array.from({ length: 10 }, (_, n) => `w${n}`);
      await Promise.all(
        ids.map((id, n) =>
          (n % 2 === 0 ? store : other).memory.remember(tenant, annOwns, factOf(id), { terms: ["word"] }),
        ),
      );
      const [kept, ...more] = await store.memory.recall(tenant, annOwns, {});
      assert.deepEqual(more, []);
      const hits = await store.memory.search(tenant, annOwns, { terms: ["word"], limit: 99 });
      assert.deepEqual(
        hits.map(({ item }) => item),
        [MemoryItem.fact(kept?.id ?? "")],
      );
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),
];
