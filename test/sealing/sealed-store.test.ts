import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { environmentKeys, sealedStore, storedKeys } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { storeSuite } from "reeve/testing/suites";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EntryId, Labels, MemoryOwner, SessionId, type Store, TenantId, UserId } from "#kernel";
import { anonymous, readable, session, speak, tree } from "./canaries.ts";

const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
const acme = { tenantId: TenantId.of("acme") };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-sealed-"));
});

afterAll(() => rm(folder, { recursive: true }));

const store = memoryStore();
test.each(storeSuite.map((each) => [each.name, each] as const))("sealed: %s", async (_, each) => {
  await each.run({ open: async () => sealedStore(store, keys) });
});

/** Returns the readable words in the files: before and after the log was merged into the database. */
async function look(name: string, wrap: (store: Store) => Store): Promise<readonly string[]> {
  await mkdir(join(folder, name));
  const path = join(folder, name, "store.db");
  const plain = await sqliteStore({ path });
  const words = await speak(wrap(plain), acme);
  const found = await readable(join(folder, name), words);
  await plain[Symbol.asyncDispose]();
  return [...found, ...(await readable(join(folder, name), words))];
}

test("without a seal the files of SQLite contain the content, with one they do not", async () => {
  const all = [
    "answer",
    "argument",
    "audit",
    "block",
    "block-term",
    "cached",
    "episode-term",
    "event",
    "fact",
    "hash",
    "key",
    "manifest",
    "message",
    "metadata",
    "term",
    "text",
    "title",
    "why",
  ];
  expect(await look("plain", (plain) => plain)).toEqual([...all, ...all]);
  expect(await look("sealed", (plain) => sealedStore(plain, keys))).toEqual([]);
});

test("another key, another place and plain text in the database are detected", async () => {
  const path = join(folder, "forged.db");
  const plain = await sqliteStore({ path });
  const sealed = sealedStore(plain, keys);
  await speak(sealed, acme);
  const other = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 8).toString("base64") });
  await expect(
    sealedStore(plain, other).events.read(acme, tree, { after: 0, limit: 9 }),
  ).rejects.toMatchObject({
    code: "seal-broken",
    reason: "unknown-key",
  });
  const file = new DatabaseSync(path);
  file.exec("update reeve_audit set data = (select json_extract(body, '$.value') from reeve_memory_fact)");
  await expect(sealed.audit.read(acme, 0, 9)).rejects.toMatchObject({ reason: "not-authentic" });
  file.exec(`update reeve_memory_fact set body = '{"value":"plain"}'`);
  await expect(sealed.memory.recall(acme, anonymous, {})).rejects.toMatchObject({ reason: "not-sealed" });
  file.exec(`update reeve_entry set body = '{"type":"message","message":{"role":"user","content":[]}}'`);
  const entries = await sealed.sessions.path(acme, session, { from: EntryId.of("a"), limit: 200 });
  expect(entries).toMatchObject([{ id: "a", type: "unknown" }]);
  const second = { ...session, id: SessionId.of("other") };
  const head = { ...second, startedAt: 1, agentId: null, channel: null, isNamed: true };
  await sealed.sessions.open(acme, { ...head, title: "of another", metadata: {} });
  expect(await sealed.sessions.head(acme, second)).toMatchObject({ title: "of another" });
  for (const column of ["title", "metadata"]) {
    const moved = `update reeve_session set ${column} =
      (select ${column} from reeve_session where session_id = 'talk') where session_id = 'other'`;
    file.exec(moved);
    await expect(sealed.sessions.head(acme, second)).rejects.toMatchObject({ reason: "not-authentic" });
    file.exec(`update reeve_session set ${column} = '"plain"' where session_id = 'other'`);
  }
  expect(await sealed.sessions.head(acme, second)).toMatchObject({ title: null, metadata: {} });
  file.close();
  await plain[Symbol.asyncDispose]();
});

test("memory is found after the wrapping key was replaced, and two users share no hash", async () => {
  const [first, second] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));
  const plain = memoryStore();
  const [ann, bob] = [MemoryOwner.user(UserId.of("ann")), MemoryOwner.user(UserId.of("bob"))];
  const write = { runId: null, labels: Labels.none, validTo: null, recordedAt: 1, key: "city" };
  const before = sealedStore(plain, storedKeys(plain.keys, environmentKeys({ REEVE_KEY: first })));
  for (const owner of [ann, bob])
    await before.memory.remember(
      acme,
      owner,
      { ...write, id: "f1", value: "Bonn", validFrom: 1 },
      { terms: ["bonn"] },
    );
  const wrapping = environmentKeys({ REEVE_KEY: second, REEVE_KEY_PREVIOUS: first });
  const { memory } = sealedStore(plain, storedKeys(plain.keys, wrapping));
  await memory.remember(acme, ann, { ...write, id: "f2", value: "Rome", validFrom: 2 }, { terms: ["rome"] });
  expect(await memory.recall(acme, ann, { key: "city" })).toMatchObject([{ validTo: 2 }, { validTo: null }]);
  expect(await memory.search(acme, ann, { terms: ["bonn"], limit: 9 })).toMatchObject([
    { item: { id: "f1" } },
  ]);
  const indexed = await Promise.all(
    [ann, bob].map((owner) => plain.memory.listIndexed(acme, owner, { after: null, limit: 9 })),
  );
  const hashes = indexed.flat().flatMap(({ terms }) => terms);
  expect(hashes).toHaveLength(3);
  expect(new Set(hashes).size).toBe(3);
});

test("a cached answer is unreadable without the key of its tree or tenant, even if its row remains", async () => {
  const path = join(folder, "cached.db");
  const plain = await sqliteStore({ path });
  const stored = storedKeys(plain.keys, keys);
  const open = (): Store["cache"] => sealedStore(plain, stored).cache;
  const of = { at: 1, until: 9_000, treeId: tree, userId: null };
  const limits = { max: 9, maxBytes: 9_000 };
  await open().put(acme, { ...of, key: "run", value: "r", isPermanent: false }, limits);
  await open().put(acme, { ...of, key: "permanent", value: "p", isPermanent: true }, limits);
  expect(await open().get(acme, "run", 2)).toMatchObject({ value: "r" });
  await stored.destroy?.("acme/books");
  expect(await open().get(acme, "run", 2)).toBeUndefined();
  expect(await open().get(acme, "permanent", 2)).toMatchObject({ value: "p" });
  // A lost worker brings nothing back.
  const late = open().put(acme, { ...of, key: "late", value: "l", isPermanent: true }, limits);
  await expect(late).rejects.toMatchObject({ code: "key-destroyed" });
  await stored.destroy?.("acme");
  await expect(open().get(acme, "permanent", 2)).rejects.toMatchObject({ code: "key-destroyed" });
  await plain[Symbol.asyncDispose]();
});

test("a cached answer cannot be moved to another question or made to live longer", async () => {
  const path = join(folder, "moved.db");
  const plain = await sqliteStore({ path });
  const { cache } = sealedStore(plain, keys);
  const of = { at: 1, until: 9, treeId: tree, userId: null, isPermanent: true };
  const limits = { max: 9, maxBytes: 9_000 };
  await cache.put(acme, { ...of, key: "a", value: "of a" }, limits);
  await cache.put(acme, { ...of, key: "b", value: "of b", until: 99 }, limits);
  const file = new DatabaseSync(path);
  expect(file.prepare("select key from reeve_cache where key in ('a', 'b')").all()).toEqual([]);
  file.exec("update reeve_cache set expires_at = 99");
  await expect(cache.get(acme, "a", 50)).rejects.toMatchObject({ reason: "not-authentic" });
  file.exec("update reeve_cache set body = (select max(body) from reeve_cache where at = 1)");
  const read = await Promise.allSettled([cache.get(acme, "a", 2), cache.get(acme, "b", 2)]);
  expect(read.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  await plain[Symbol.asyncDispose]();
  file.close();
});
