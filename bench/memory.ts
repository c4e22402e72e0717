// Recall in 100,000 facts and episodes of 100 users: the time of a search, with the facts that it found.
// The content of the episodes that it found is not read: that is the cost of a session.
// node --conditions=reeve-source bench/memory.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { EntryId, MemoryItem, MemoryOwner, type Partition, type Store } from "reeve/store";
import { SessionId, TenantId, UserId } from "reeve";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { sqliteVectorStore } from "reeve/stores/sqlite-vec";
import { postgresServer } from "../test/stores/postgres-server.ts";

const acme: Partition = { tenantId: TenantId.of("acme") };
const users = 100;
/** For each user, so 100,000 items together. */
const [facts, episodes] = [500, 500];
const wordsPerItem = 12;
const rounds = 400;
const maxP95Ms = 50;
const now = 1_000_000;

let seed = 7;
/** The same numbers every time, from 0 to 1. */
function chance(): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
}

/** Word frequencies as in a natural language: a few words occur in most texts, most words in few. */
const someWord = (): string => `word${Math.floor(5_000 ** chance())}`;
const someWords = (count: number): readonly string[] => [
  ...new Set(["word0", ...Array.from({ length: count }, someWord)]),
];

const ownerOf = (user: number): MemoryOwner => MemoryOwner.user(UserId.of(`user${user}`));

/** The statements that fill a database, 500 rows each. */
function* fill(): Iterable<string> {
  for (let user = 0; user < users; user += 1) {
    const own = `'acme', '${MemoryOwner.key(ownerOf(user))}'`;
    const [factRows, termRows]: [string[], string[]] = [[], []];
    for (let n = 0; n < facts + episodes; n += 1) {
      const isFact = n < facts;
      const item = isFact
        ? MemoryItem.fact(`f${n}`)
        : MemoryItem.episode(SessionId.of(`s${n % 20}`), EntryId.of(`e${n}`));
      const words = someWords(wordsPerItem);
      if (isFact)
        factRows.push(
          // Five facts of each key: all but the last are superseded.
          `(${own}, 'key${n % 100}', ${n}, null, 'f${n}', ${n}, '{"value":"${words.join(" ")}","runId":null}')`,
        );
      for (const word of words)
        termRows.push(`(${own}, '${word}', '${MemoryItem.key(item)}', '${item.kind}', ${n})`);
    }
    yield* inserts("reeve_memory_fact", factRows);
    yield* inserts("reeve_memory_term", termRows);
  }
}

function* inserts(table: string, rows: readonly string[]): Iterable<string> {
  for (let start = 0; start < rows.length; start += 500)
    yield `insert into ${table} values ${rows.slice(start, start + 500).join(", ")}`;
}

/** Prints median and p95. Returns the p95. */
async function measure(name: string, work: (n: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const began = performance.now();
    await work(n);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const [median = 0, p95 = 0] = [times[rounds >> 1], times[Math.floor(rounds * 0.95)]];
  console.log(`${name.padEnd(64)} median ${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
  return p95;
}

async function recalls(name: string, { memory }: Store): Promise<void> {
  const recall = async (n: number, words: readonly string[]): Promise<void> => {
    const owner = ownerOf(n % users);
    const hits = await memory.search(acme, owner, { terms: words, limit: 10, at: now });
    const ids = hits.flatMap(({ item }) => (item.kind === "fact" ? [item.id] : []));
    await memory.recall(acme, owner, { ids });
  };
  const p95 = [
    await measure(`${name}: recall by 6 words, with the facts found`, (n) => recall(n, someWords(5))),
    await measure(`${name}: recall by 40 words`, (n) => recall(n, someWords(39))),
    await measure(`${name}: recall by the word that every item has`, (n) => recall(n, ["word0"])),
    await measure(`${name}: all facts of a user that hold`, (n) =>
      memory.recall(acme, ownerOf(n % users), { at: now }),
    ),
  ];
  if (Math.max(...p95) > maxP95Ms) {
    console.log(`${name}: a p95 is above ${maxP95Ms} ms`);
    process.exitCode = 1;
  }
}

const someVector = (): readonly number[] => Array.from({ length: 384 }, () => chance() - 0.5);

async function vectors(name: string, store: NonNullable<Store["vectors"]>): Promise<void> {
  const items = Array.from({ length: 1_000 }, (_, n) => MemoryItem.fact(`f${n}`));
  await store.put(
    acme,
    ownerOf(0),
    items.map((item, at) => ({ item, embedder: "e", at, vector: someVector() })),
  );
  await measure(`${name}: the nearest of 1,000 vectors of 384 numbers`, () =>
    store.search(acme, ownerOf(0), { embedder: "e", vector: someVector(), limit: 10 }),
  );
}

async function sqlite(folder: string): Promise<void> {
  const path = join(folder, "store.db");
  const store = await sqliteStore({ path });
  const file = new DatabaseSync(path);
  file.exec("begin");
  for (const statement of fill()) file.exec(statement);
  file.exec("commit");
  file.close();
  await recalls("sqlite", store);
  await vectors("sqlite", store.vectors ?? refuseVectors());
  await store[Symbol.asyncDispose]();
  await using extension = await sqliteVectorStore({ path: join(folder, "vectors.db") });
  await vectors("sqlite-vec", extension);
}

async function postgres(): Promise<void> {
  const server = await postgresServer({ fsync: "on" });
  try {
    const url = await server.database();
    const store = await postgresStore({ connectionString: url });
    let batch = "";
    for (const statement of fill()) {
      batch += `${statement};`;
      if (batch.length < 2_000_000) continue;
      await server.query(batch, url);
      batch = "";
    }
    await server.query(batch, url);
    await server.query("vacuum analyze", url);
    await recalls("postgres", store);
    await vectors("postgres", store.vectors ?? refuseVectors());
    await store[Symbol.asyncDispose]();
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

function refuseVectors(): never {
  throw new Error("the store keeps no vectors");
}

const folder = await mkdtemp(join(tmpdir(), "reeve-bench-"));
await sqlite(folder);
await rm(folder, { recursive: true });
await postgres();
