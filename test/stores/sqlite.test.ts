import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { sqliteStore } from "reeve/stores/sqlite";
import { storeSuite, type StoreHarness } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EntryId, SessionId } from "#kernel";
import { sessionProperty } from "../agents/session/session-property.ts";
import { auditTampering } from "./audit-tampering.ts";
import { appendAndTail, decideInTwo, takeFromLimit } from "./two-processes.ts";

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-sqlite-"));
  path = join(folder, "store.db");
});

afterAll(() => rm(folder, { recursive: true }));

const harness: StoreHarness = { open: () => sqliteStore({ path }) };

test.each(storeSuite.map((each) => [each.name, each] as const))("sqlite: %s", async (_, each) => {
  await each.run(harness);
});

test("random operations and crashes leave sessions as plain ones", { timeout: 120_000 }, async () => {
  const { sessions } = await sqliteStore({ path: join(folder, "sessions.db") });
  await fc.assert(
    sessionProperty(() => sessions),
    { numRuns: Number(process.env["REEVE_PROPERTY_RUNS"] ?? 100) },
  );
});

test("two processes append and tail 10,000 events: no gap, no duplicate, one order", async () => {
  const total = 10_000;
  const [one = [], other] = await appendAndTail({ store: { sqlite: path }, tenant: "two", total });
  expect(one.map((line) => Number.parseInt(line, 10))).toEqual(
    Array.from({ length: total }, (_, n) => n + 1),
  );
  expect(other).toEqual(one);
});

test("two processes decide at once for one tenant: one chain, nothing twice, nothing lost", async () => {
  const store = await sqliteStore({ path });
  await decideInTwo(store, { store: { sqlite: path }, tenant: "decided", total: 40 });
  await store[Symbol.asyncDispose]();
});

test("whatever is done to the rows of an audit is noticed, and where", async () => {
  const store = await sqliteStore({ path });
  const file = new DatabaseSync(path);
  await auditTampering(store, async (statement) => file.exec(statement));
  file.close();
  await store[Symbol.asyncDispose]();
});

test("two processes share a limit: together they get what there is, and no more", async () => {
  const granted = await takeFromLimit({ store: { sqlite: path }, tenant: "limited", total: 200 });
  expect(granted.flat()).toHaveLength(200);
});

test("what was kept is there when the file is opened again, and many may open a new one at once", async () => {
  const fresh = join(folder, "fresh.db");
  const stores = await Promise.all([1, 2, 3].map(() => sqliteStore({ path: fresh })));
  const head = { id: SessionId.of("talk"), userId: null, startedAt: 1 };
  await stores[0]?.sessions.open({ tenantId: null }, head);
  for (const store of stores) await store[Symbol.asyncDispose]();
  const again = await sqliteStore({ path: fresh });
  expect(await again.sessions.head({ tenantId: null }, head.id)).toMatchObject(head);
  await again[Symbol.asyncDispose]();
});

test("a torn entry is shown as it is, and the rest of its session with it", async () => {
  const torn = join(folder, "torn.db");
  const store = await sqliteStore({ path: torn });
  const talk = SessionId.of("talk");
  const [a, b] = [EntryId.of("a"), EntryId.of("b")];
  const entry = { at: 1, branch: null, type: "custom", kind: "note", data: 1 } as const;
  await store.sessions.open({ tenantId: null }, { id: talk, userId: null, startedAt: 1 });
  await store.sessions.append({ tenantId: null }, talk, [
    { ...entry, id: a, parentId: null },
    { ...entry, id: b, parentId: a },
  ]);
  const file = new DatabaseSync(torn);
  file.exec(`update reeve_entry set body = '{"type":"cus' where entry_id = 'a'`);
  file.close();
  expect(await store.sessions.path({ tenantId: null }, talk, b, 9)).toEqual([
    { ...entry, id: b, parentId: a },
    { id: a, parentId: null, at: 1, branch: null, type: "unknown", raw: '{"type":"cus' },
  ]);
  await store[Symbol.asyncDispose]();
});
