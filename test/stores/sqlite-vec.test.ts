import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { environmentKeys, sealedStore } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { sqliteVectorStore } from "reeve/stores/sqlite-vec";
import { storeSuite } from "reeve/testing/suites";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryItem, MemoryOwner, Partition, withVectors } from "#kernel";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-vec-"));
});

afterAll(() => rm(folder, { recursive: true }));

const acme = Partition.of("acme");
const owner = MemoryOwner.user(null);
const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
const store = memoryStore();

test.each(storeSuite.map((each) => [each.name, each] as const))(
  "sealed, with vectors in sqlite-vec: %s",
  async (_, each) => {
    const vectors = await sqliteVectorStore({ path: join(folder, "vectors.db") });
    await each.run({ open: async () => withVectors(sealedStore(store, keys), vectors) });
    await vectors[Symbol.asyncDispose]();
  },
);

test("the file is readable by its owner only, and keeps its vectors", async () => {
  const path = join(folder, "kept.db");
  const vector = { item: MemoryItem.fact("f"), embedder: "e", at: 1, vector: [0.25, -1] };
  const first = await sqliteVectorStore({ path });
  await first.put(acme, owner, [vector]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await first[Symbol.asyncDispose]();
  await using again = await sqliteVectorStore({ path });
  expect(await again.list(acme, owner, { after: null, limit: 9 })).toEqual([vector]);
});

test("a search reads the vectors of its owner and no others", async () => {
  const path = join(folder, "plan.db");
  await (await sqliteVectorStore({ path }))[Symbol.asyncDispose]();
  const file = new DatabaseSync(path);
  const plan = file
    .prepare(
      "explain query plan select item from reeve_vector where tenant_id = ? and owner = ? and embedder = ?",
    )
    .all();
  file.close();
  expect(plan.map(({ detail }) => String(detail))).toEqual([
    expect.stringMatching(/^SEARCH reeve_vector .*\(tenant_id=\? AND owner=\?\)/),
  ]);
});
