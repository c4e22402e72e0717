import assert from "node:assert/strict";
import {
  type BlockEdit,
  EntryId,
  type MemoryHit,
  MemoryItem,
  MemoryOwner,
  type MemoryQuery,
  type Partition,
  SessionId,
  type Store,
  toTerms,
} from "#kernel";
import { ann, annOwns, blockEditOf, bobOwns, factOf, type StoreCase, storeCase } from "./harness.ts";

const talk = SessionId.of("talk");
const episode = (n: number): MemoryItem => MemoryItem.episode(talk, EntryId.of(`e${n}`));

const names = (hits: readonly MemoryHit[]): readonly string[] => hits.map(({ item }) => MemoryItem.key(item));

async function find(
  store: Store,
  tenant: Partition,
  words: string,
  query: Partial<MemoryQuery> = {},
): Promise<readonly string[]> {
  const hits = await store.memory.search(tenant, annOwns, { terms: toTerms(words), limit: 10, ...query });
  return names(hits);
}

const tell = (store: Store, tenant: Partition, n: number, words: string, at = n): Promise<void> =>
  store.memory.index(tenant, annOwns, [{ item: episode(n), at, terms: toTerms(words) }]);

const edit = (id: string, version: number, text: string): BlockEdit => ({
  ...blockEditOf(id, { version, text }),
  terms: toTerms(text),
});

export const memorySearchCases: readonly StoreCase[] = [
  storeCase(
    "a search finds facts, blocks and episodes by their terms, in any case or character width",
    async (desk) => {
      const { store, tenant } = desk;
      await store.memory.remember(tenant, annOwns, factOf("f1"), { terms: toTerms("city: Düsseldorf") });
      await store.memory.editBlock(tenant, annOwns, "human", {
        ...blockEditOf("b1"),
        terms: toTerms("Ann moved to DÜSSELDORF, with a dog"),
      });
      await tell(store, tenant, 1, "we spoke of ｄüsseldorf");
      const found = await find(store, tenant, "Düsseldorf?");
      assert.deepEqual(found.toSorted(), ["block human", "episode talk e1", "fact f1"]);
      assert.deepEqual(await find(store, tenant, "dog"), ["block human"]);
      assert.deepEqual(await find(store, tenant, "düsseldorf", { kinds: ["fact"] }), ["fact f1"]);
      assert.deepEqual(await find(store, tenant, "düsseldorf", { kinds: [] }), []);
      assert.deepEqual(await find(store, tenant, "cat"), []);
      assert.deepEqual(await find(store, tenant, ""), []);
      const [hit] = await store.memory.search(tenant, annOwns, { terms: ["dog"], limit: 1 });
      assert.deepEqual([hit?.owner, hit?.at], [annOwns, 1_000]);
    },
  ),

  storeCase(
    "items that share rarer terms come first, then items that share more, then the newest",
    async (desk) => {
      const { store, tenant } = desk;
      for (let n = 1; n <= 8; n += 1) await tell(store, tenant, n, "the meeting was long");
      await tell(store, tenant, 9, "the invoice");
      await tell(store, tenant, 10, "the invoice of the meeting", 2);
      const found = await find(store, tenant, "the invoice of that meeting", { limit: 4 });
      assert.deepEqual(found, ["episode talk e10", "episode talk e9", "episode talk e8", "episode talk e7"]);
    },
  ),

  storeCase("terms that a new text no longer has do not find it", async ({ store, tenant }) => {
    await store.memory.editBlock(tenant, annOwns, "human", edit("w1", 0, "likes tea"));
    await store.memory.editBlock(tenant, annOwns, "human", edit("w2", 1, "likes coffee"));
    assert.deepEqual(await find(store, tenant, "tea"), []);
    assert.deepEqual(await find(store, tenant, "coffee"), ["block human"]);
    await store.memory.editBlock(tenant, annOwns, "human", edit("w3", 1, "likes juice"));
    assert.deepEqual(await find(store, tenant, "juice"), []);
    await tell(store, tenant, 1, "one two");
    await tell(store, tenant, 1, "one three");
    await tell(store, tenant, 1, "one three");
    assert.deepEqual(await find(store, tenant, "two"), []);
    assert.deepEqual(await find(store, tenant, "one three"), ["episode talk e1"]);
    await store.memory.removeBlock(tenant, annOwns, "human");
    await store.memory.unindex(tenant, annOwns, [episode(1), episode(2)]);
    assert.deepEqual(await find(store, tenant, "one three coffee"), []);
    assert.deepEqual(await store.memory.listIndexed(tenant, annOwns, { after: null, limit: 9 }), []);
  }),

  storeCase("a search finds the facts valid at its moment, or all facts", async ({ store, tenant }) => {
    const remember = (id: string, validFrom: number, validTo: number | null = null) =>
      store.memory.remember(tenant, annOwns, factOf(id, { validFrom, validTo }), { terms: toTerms("city") });
    await remember("old", 100);
    await remember("new", 200);
    await remember("ended", 300, 400);
    await remember("future", 900);
    const at = (moment: number): Promise<readonly string[]> => find(store, tenant, "city", { at: moment });
    assert.deepEqual(await at(50), []);
    assert.deepEqual(await at(199), ["fact old"]);
    assert.deepEqual(await at(200), ["fact new"]);
    assert.deepEqual(await at(350), ["fact ended"]);
    assert.deepEqual(await at(400), []);
    assert.deepEqual(await at(900), ["fact future"]);
    assert.equal((await find(store, tenant, "city")).length, 4);
  }),

  storeCase("an owner finds nothing of another owner", async ({ store, tenant }) => {
    await tell(store, tenant, 1, "secret plan");
    for (const owner of [bobOwns, MemoryOwner.tenant, MemoryOwner.session({ id: talk, userId: ann })])
      assert.deepEqual(await store.memory.search(tenant, owner, { terms: ["secret"], limit: 9 }), []);
    assert.deepEqual(await find(store, tenant, "secret"), ["episode talk e1"]);
  }),

  storeCase("removing a session removes its episodes, and no other session's", async ({ store, tenant }) => {
    const longer = SessionId.of("talk2");
    await tell(store, tenant, 1, "plan");
    const other = MemoryItem.episode(longer, EntryId.of("e1"));
    await store.memory.index(tenant, annOwns, [{ item: other, at: 1, terms: ["plan"] }]);
    await store.memory.index(tenant, bobOwns, [{ item: episode(1), at: 1, terms: ["plan"] }]);
    for (const item of [episode(1), other])
      await store.vectors?.put(tenant, annOwns, [{ item, embedder: "e", at: 1, vector: [1, 1] }]);
    await store.sessions.remove(tenant, { id: talk, userId: ann });
    assert.deepEqual(await find(store, tenant, "plan"), ["episode talk2 e1"]);
    assert.equal((await store.memory.search(tenant, bobOwns, { terms: ["plan"], limit: 9 })).length, 1);
    const left = await store.vectors?.list(tenant, annOwns, { after: null, limit: 9 });
    assert.deepEqual(left?.map(({ item }) => MemoryItem.key(item)) ?? ["episode talk2 e1"], [
      "episode talk2 e1",
    ]);
  }),

  storeCase("the index is listed by item, page by page, each with its terms", async ({ store, tenant }) => {
    for (const n of [3, 1, 2]) await tell(store, tenant, n, `word${n} and word`);
    const first = await store.memory.listIndexed(tenant, annOwns, { after: null, limit: 2 });
    assert.deepEqual(
      first.map(({ item }) => item),
      [episode(1), episode(2)],
    );
    const rest = await store.memory.listIndexed(tenant, annOwns, { after: first[1]?.item ?? null, limit: 2 });
    assert.deepEqual(
      rest.map(({ item, at, terms }) => [item, at, terms.length]),
      [[episode(3), 3, 3]],
    );
  }),
];
