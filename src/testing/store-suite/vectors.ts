import assert from "node:assert/strict";
import { EntryId, MemoryItem, MemoryOwner, SessionId, type MemoryVector, type VectorStore } from "#kernel";
import { ann, annOwns, bobOwns, factOf, type Desk, type StoreCase, storeCase } from "./harness.ts";

const vectorOf = (
  id: string,
  vector: readonly number[],
  fields: Partial<MemoryVector> = {},
): MemoryVector => ({
  item: MemoryItem.fact(id),
  embedder: "e",
  at: 1,
  vector,
  ...fields,
});

/** A sealing store has no vectors, so the case does not apply. */
const vectorCase = (name: string, body: (vectors: VectorStore, desk: Desk) => Promise<void>): StoreCase =>
  storeCase(name, async (desk) => {
    if (desk.store.vectors) await body(desk.store.vectors, desk);
  });

export const vectorCases: readonly StoreCase[] = [
  vectorCase("the most similar vectors of an owner are found first", async (vectors, { tenant }) => {
    await vectors.put(tenant, annOwns, [
      vectorOf("far", [-1, 0.1]),
      vectorOf("near", [2, 0.2]),
      vectorOf("same", [0.5, 0]),
      vectorOf("other-embedder", [1, 0], { embedder: "other" }),
      vectorOf("x", [1, 0], { item: MemoryItem.block("human"), at: 2 }),
    ]);
    await vectors.put(tenant, bobOwns, [vectorOf("of-bob", [1, 0])]);
    const query = { embedder: "e", vector: [1, 0], limit: 3 };
    const hits = await vectors.search(tenant, annOwns, query);
    assert.deepEqual(
      hits.map(({ item }) => MemoryItem.key(item)),
      ["block human", "fact same", "fact near"],
    );
    assert.deepEqual(
      hits.slice(0, 2).map(({ score, owner }) => [Math.round(score * 1_000), owner]),
      [
        [1_000, annOwns],
        [1_000, annOwns],
      ],
    );
    const facts = await vectors.search(tenant, annOwns, { ...query, kinds: ["fact"] });
    assert.deepEqual(
      facts.map(({ item }) => MemoryItem.key(item)),
      ["fact same", "fact near", "fact far"],
    );
    assert.deepEqual(await vectors.search(tenant, annOwns, { ...query, kinds: [] }), []);
    assert.deepEqual(await vectors.search(tenant, annOwns, { ...query, vector: [1, 0, 0] }), []);
    assert.deepEqual(await vectors.search(tenant, MemoryOwner.tenant, query), []);
  }),

  vectorCase("a vector is replaced, listed and removed with its item", async (vectors, { tenant, store }) => {
    await vectors.put(tenant, annOwns, [vectorOf("a", [1, 0]), vectorOf("a", [1, 0, 0], { embedder: "z" })]);
    await vectors.put(tenant, annOwns, [vectorOf("a", [0, 1], { at: 2 }), vectorOf("b", [0, 1])]);
    const all = await vectors.list(tenant, annOwns, { after: null, limit: 2 });
    assert.deepEqual(all, [vectorOf("a", [0, 1], { at: 2 }), vectorOf("a", [1, 0, 0], { embedder: "z" })]);
    const rest = await vectors.list(tenant, annOwns, { after: all[1] ?? null, limit: 2 });
    assert.deepEqual(rest, [vectorOf("b", [0, 1])]);
    await store.memory.remember(tenant, annOwns, factOf("a"));
    await store.memory.forget(tenant, annOwns, { id: "forget", fact: "a" });
    assert.deepEqual(await vectors.list(tenant, annOwns, { after: null, limit: 9 }), [vectorOf("b", [0, 1])]);
    await vectors.remove(tenant, annOwns, [MemoryItem.fact("b"), MemoryItem.fact("none")]);
    assert.deepEqual(await vectors.list(tenant, annOwns, { after: null, limit: 9 }), []);
  }),

  vectorCase("erasing a session or a user erases its vectors and no others", async (vectors, { tenant }) => {
    const talk = { id: SessionId.of("talk"), userId: ann };
    const item = MemoryItem.episode(talk.id, EntryId.of("e"));
    const ofSession = MemoryOwner.session(talk);
    await vectors.put(tenant, annOwns, [vectorOf("x", [1], { item }), vectorOf("a", [1])]);
    for (const owner of [ofSession, bobOwns, MemoryOwner.tenant])
      await vectors.put(tenant, owner, [vectorOf("a", [1])]);
    const count = async (owner: MemoryOwner): Promise<number> =>
      (await vectors.list(tenant, owner, { after: null, limit: 9 })).length;
    await vectors.eraseSession(tenant, talk);
    assert.deepEqual([await count(annOwns), await count(ofSession), await count(bobOwns)], [1, 0, 1]);
    await vectors.put(tenant, ofSession, [vectorOf("a", [1])]);
    await vectors.eraseUser(tenant, ann);
    assert.deepEqual([await count(annOwns), await count(ofSession), await count(bobOwns)], [0, 0, 1]);
    assert.equal(await count(MemoryOwner.tenant), 1);
  }),

  vectorCase("an invalid vector is refused", async (vectors, { tenant }) => {
    for (const vector of [[], [0, 0], [Number.NaN, 1], [Infinity]]) {
      await assert.rejects(vectors.put(tenant, annOwns, [vectorOf("a", vector)]), TypeError);
      await assert.rejects(vectors.search(tenant, annOwns, { embedder: "e", vector, limit: 1 }), TypeError);
    }
  }),
];
