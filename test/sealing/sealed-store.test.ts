import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { environmentKeys, sealedStore } from "reeve/sealing";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { storeSuite } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EntryId, type Store, TenantId } from "#kernel";
import { readable, session, speak, tree } from "./canaries.ts";

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

/** What can be read in the files: while the log is beside the database, and after it went into it. */
async function look(name: string, wrap: (store: Store) => Store): Promise<readonly string[]> {
  await mkdir(join(folder, name));
  const path = join(folder, name, "store.db");
  const plain = await sqliteStore({ path });
  const words = await speak(wrap(plain), acme);
  const found = await readable(join(folder, name), words);
  await plain[Symbol.asyncDispose]();
  return [...found, ...(await readable(join(folder, name), words))];
}

test("without a seal the words stand in the files of SQLite, with one they do not", async () => {
  const all = ["answer", "argument", "audit", "event", "fact", "manifest", "message", "why"];
  expect(await look("plain", (plain) => plain)).toEqual([...all, ...all]);
  expect(await look("sealed", (plain) => sealedStore(plain, keys))).toEqual([]);
});

test("another key, another place and plain words in the database are noticed", async () => {
  const path = join(folder, "forged.db");
  const plain = await sqliteStore({ path });
  const sealed = sealedStore(plain, keys);
  await speak(sealed, acme);
  const other = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 8).toString("base64") });
  await expect(sealedStore(plain, other).events.read(acme, tree, 0, 9)).rejects.toMatchObject({
    code: "seal-broken",
    reason: "unknown-key",
  });
  const file = new DatabaseSync(path);
  file.exec("update reeve_audit set data = (select value from reeve_fact)");
  await expect(sealed.audit.read(acme, 0, 9)).rejects.toMatchObject({ reason: "not-authentic" });
  file.exec(`update reeve_fact set value = '"plain"'`);
  await expect(sealed.memory.recall(acme, null, {})).rejects.toMatchObject({ reason: "not-sealed" });
  file.exec(`update reeve_entry set body = '{"type":"message","message":{"role":"user","content":[]}}'`);
  const entries = await sealed.sessions.path(acme, session, EntryId.of("a"), 200);
  expect(entries).toMatchObject([{ id: "a", type: "unknown" }]);
  file.close();
  await plain[Symbol.asyncDispose]();
});
