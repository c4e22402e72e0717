import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EntryId, MemoryItem, MemoryOwner, type Partition, SessionId, type Store } from "#kernel";
import { ann, blockEditOf, bob, factOf, createTenant, type StoreCase, storeCase } from "./harness.ts";

/** A user of a tenant, with a word that occurs in everything the user writes and nowhere else. */
interface Person {
  readonly partition: Partition;
  readonly owner: MemoryOwner;
  readonly canary: string;
}

const session = SessionId.of("talk");
const shared = "shared";

/** The `n`-th write: everyone uses the same ids, so only tenant and owner keep them apart. */
const writes: readonly ((store: Store, person: Person, n: number) => Promise<unknown>)[] = [
  ({ memory }, { partition, owner, canary }, n) =>
    memory.remember(partition, owner, factOf(`f${n}`, { key: `k${n % 5}`, value: canary, validFrom: n }), {
      terms: [shared, canary],
    }),
  ({ memory }, { partition, owner, canary }, n) =>
    memory.editBlock(partition, owner, "human", {
      ...blockEditOf(`b${n}`, { text: `${canary} ${n}`, version: n }),
      terms: [shared, canary],
    }),
  ({ memory }, { partition, owner, canary }, n) =>
    memory.index(partition, owner, [
      { item: MemoryItem.episode(session, EntryId.of(canary)), at: n, terms: [shared, canary] },
    ]),
  async ({ vectors }, { partition, owner, canary }, n) =>
    vectors?.put(partition, owner, [
      { item: MemoryItem.episode(session, EntryId.of(canary)), embedder: "e", at: n, vector: [1, n + 1] },
    ]),
  ({ memory }, { partition, owner }, n) =>
    memory.forget(partition, owner, { id: `forget${n}`, fact: `f${n - 7}` }),
];

const reads: readonly ((store: Store, person: Person) => Promise<unknown>)[] = [
  ({ memory }, { partition, owner }) => memory.recall(partition, owner, {}),
  ({ memory }, { partition, owner }) => memory.blocks(partition, owner),
  async ({ memory }, { partition, owner }) => {
    const hits = await memory.search(partition, owner, { terms: [shared], limit: 50 });
    const ids = hits.flatMap(({ item }) => (item.kind === "fact" ? [item.id] : []));
    return [hits, await memory.recall(partition, owner, { ids })];
  },
  async ({ vectors, memory }, { partition, owner }) =>
    vectors
      ? vectors.search(partition, owner, { embedder: "e", vector: [1, 1], limit: 50 })
      : memory.listIndexed(partition, owner, { after: null, limit: 99 }),
];

const rounds = 30;

export const memoryCrossingCases: readonly StoreCase[] = [
  storeCase(
    "1,000 interleaved memory operations of two users of two tenants never mix",
    async ({ store }) => {
      const people = [createTenant(), createTenant()].flatMap((partition) =>
        [ann, bob].map((user): Person => ({
          partition,
          owner: MemoryOwner.user(user),
          canary: randomUUID(),
        })),
      );
      let operations = 0;
      const live = async (person: Person): Promise<void> => {
        const others = people.filter((other) => other !== person);
        for (let n = 0; n < rounds; n += 1)
          for (const [index, write] of writes.entries()) {
            const answer = await write(store, person, n);
            const seen = JSON.stringify([answer, await reads[(n + index) % reads.length]?.(store, person)]);
            operations += 2;
            for (const { canary } of others) assert.ok(!seen.includes(canary), `crossed at ${n}, ${index}`);
          }
      };
      await Promise.all(people.map(live));
      assert.ok(operations >= 1_000, `${operations} operations`);
      for (const person of people)
        for (const read of reads) {
          const found = JSON.stringify(await read(store, person));
          assert.ok(found.includes(person.canary), `not its own: ${found.slice(0, 200)}`);
        }
    },
  ),
];
