import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { getPromptWindow, Session } from "reeve/store";
import { sqliteStore } from "reeve/stores/sqlite";
import { storeSuite, type StoreHarness } from "reeve/testing/suites";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  EntryId,
  Labels,
  MemoryItem,
  MemoryOwner,
  Partition,
  RunId,
  SessionId,
  TreeId,
  UserId,
} from "#kernel";
import { sessionProperty } from "../agents/session/session-property.ts";
import { readable } from "../sealing/canaries.ts";
import { auditTampering } from "./audit-tampering.ts";
import { factProperty } from "./fact-property.ts";
import { expectPermanence, undoPermanence, writePermanence } from "./old-permanence.ts";
import { expectKept, oldSessions } from "./old-sessions.ts";
import { expectTurnsKept, turnEffort, turnTimeoutMs } from "./turns-in-two-processes.ts";
import { appendAndTail, decideInTwo, takeFromLimit } from "./two-processes.ts";
import { propertyRuns } from "../effort.ts";

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

test("the files of a store are readable by their owner only", async () => {
  const files = await mkdtemp(join(folder, "files-"));
  await using store = await sqliteStore({ path: join(files, "store.db") });
  await store.runs.list(Partition.of("acme"), {}, { size: 1 });
  const names = await readdir(files);
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) expect((await stat(join(files, name))).mode & 0o777).toBe(0o600);
});

test("random operations and crashes leave sessions equal to a simple model", async () => {
  const { sessions } = await sqliteStore({ path: join(folder, "sessions.db") });
  await fc.assert(
    sessionProperty(() => sessions),
    { numRuns: propertyRuns(100) },
  );
});

test("a back-dated fact never inverts valid time, in any order of facts", async () => {
  await using store = await sqliteStore({ path: join(folder, "facts.db") });
  await fc.assert(
    factProperty(async () => store),
    { numRuns: propertyRuns(100) },
  );
});

test("two processes that append and tail 10,000 events see no gap, no duplicate and one order", async () => {
  const total = 10_000;
  const [one = [], other] = await appendAndTail({ store: { sqlite: path }, tenant: "two", total });
  expect(one.map((line) => Number.parseInt(line, 10))).toEqual(
    Array.from({ length: total }, (_, n) => n + 1),
  );
  expect(other).toEqual(one);
});

test("two processes that decide at once for one tenant write one audit chain without loss or duplicate", async () => {
  const store = await sqliteStore({ path });
  await decideInTwo(store, { store: { sqlite: path }, tenant: "decided", total: 40 });
  await store[Symbol.asyncDispose]();
});

test("any change of the rows of an audit is detected with its position", async () => {
  const store = await sqliteStore({ path });
  const file = new DatabaseSync(path);
  await auditTampering(store, async (statement) => file.exec(statement));
  file.close();
  await store[Symbol.asyncDispose]();
});

test(
  `two processes that take ${turnEffort.turns} turns keep every saved one, though they are frozen and killed`,
  async () => {
    const turns = join(folder, "turns.db");
    await using store = await sqliteStore({ path: turns });
    await expectTurnsKept(store, { sqlite: turns });
  },
  turnTimeoutMs,
);

test("two processes that share a limit together get no more than the limit", async () => {
  const granted = await takeFromLimit({ store: { sqlite: path }, tenant: "limited", total: 200 });
  expect(granted.flat()).toHaveLength(200);
});

test("stored data survives reopening the file, and several processes may open a new file at once", async () => {
  const fresh = join(folder, "fresh.db");
  const stores = await Promise.all([1, 2, 3].map(() => sqliteStore({ path: fresh })));
  const key = { id: SessionId.of("talk"), userId: null };
  const head = {
    ...key,
    startedAt: 1,
    agentId: null,
    channel: "chat",
    title: "t",
    metadata: {},
    isNamed: true,
  };
  await stores[0]?.sessions.open({ tenantId: null }, head);
  for (const store of stores) await store[Symbol.asyncDispose]();
  const again = await sqliteStore({ path: fresh });
  expect(await again.sessions.head({ tenantId: null }, key)).toMatchObject(head);
  await again[Symbol.asyncDispose]();
});

test("a damaged entry is returned as stored, with the rest of its session", async () => {
  const torn = join(folder, "torn.db");
  const store = await sqliteStore({ path: torn });
  const talk = { id: SessionId.of("talk"), userId: null };
  const [a, b] = [EntryId.of("a"), EntryId.of("b")];
  const entry = { at: 1, branch: null, type: "custom", kind: "note", data: 1 } as const;
  await new Session(store.sessions, { tenantId: null }, talk).open({ startedAt: 1 });
  await store.sessions.append({ tenantId: null }, talk, [
    { ...entry, id: a, parentId: null },
    { ...entry, id: b, parentId: a },
  ]);
  const file = new DatabaseSync(torn);
  file.exec(`update reeve_entry set body = '{"type":"cus' where entry_id = 'a'`);
  file.close();
  expect(await store.sessions.path({ tenantId: null }, talk, { from: b, limit: 9 })).toEqual([
    { ...entry, id: b, parentId: a },
    { id: a, parentId: null, at: 1, branch: null, type: "unknown", raw: '{"type":"cus' },
  ]);
  await store[Symbol.asyncDispose]();
});

test("a window and a turn are read by index, however long the session is", async () => {
  const plans = join(folder, "plans.db");
  await using store = await sqliteStore({ path: plans });
  const key = { id: SessionId.of("talk"), userId: null };
  const session = new Session(store.sessions, { tenantId: null }, key);
  await session.open({ startedAt: 1 });
  const [run, failed, cancelled] = ["one", "two", "three"].map((tree) => RunId.root(TreeId.of(tree)));
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  for (const branch of [run, failed, cancelled]) {
    if (!branch) continue;
    const id = EntryId.of(`${branch}.0`);
    const entry = { id, at: 1, type: "custom", kind: "note", data: 1 } as const;
    const follows = await session.leaf();
    await session.append([entry], { branch, after: follows });
    if (branch === run) await session.adopt(branch, { last: id, follows });
    else {
      const end = { ...entry, id: EntryId.of(`${branch}.end`), parentId: null, branch };
      await session.settle(branch, { end: branch === failed ? null : end });
    }
  }
  await session.navigate(EntryId.of(`${run}.0`));
  await getPromptWindow(session);
  const statements = new Set(prepare.mock.calls.map(([statement]) => statement));
  prepare.mockRestore();
  const file = new DatabaseSync(plans);
  const steps = [...statements]
    .filter((statement) => statement.includes("reeve_"))
    .flatMap((statement) => file.prepare(`explain query plan ${statement}`).all())
    .map(({ detail }) => String(detail));
  file.close();
  const ofEntries = steps.filter((step) => /^(SEARCH|SCAN) (reeve_entry|entry)\b/.test(step));
  expect(ofEntries.length).toBeGreaterThan(3);
  for (const step of ofEntries) expect(step).toMatch(/session_id=\? AND (entry_id|branch)=\?/);
  expect(steps.filter((step) => /^SCAN (?!path$)/.test(step))).toEqual([]);
});

test("a memory search uses an index, however large the memory is", async () => {
  const plans = join(folder, "memory-plans.db");
  await using store = await sqliteStore({ path: plans });
  const [acme, owner] = [Partition.of("acme"), MemoryOwner.user(null)];
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  const item = MemoryItem.fact("f");
  await store.memory.index(acme, owner, [{ item, at: 1, terms: ["a", "b"] }]);
  await store.memory.search(acme, owner, { terms: ["a", "b"], kinds: ["fact", "episode"], limit: 5, at: 9 });
  await store.memory.search(acme, owner, { terms: ["a", "b"], limit: 5 });
  await store.memory.recall(acme, owner, { ids: ["f"] });
  await store.memory.unindex(acme, owner, [item]);
  const statements = new Set(prepare.mock.calls.map(([statement]) => statement));
  prepare.mockRestore();
  const file = new DatabaseSync(plans);
  const steps = [...statements]
    .filter((statement) => statement.includes("reeve_memory"))
    .flatMap((statement) => file.prepare(`explain query plan ${statement}`).all())
    .map(({ detail }) => String(detail));
  file.close();
  const ofTerms = steps.filter((step) => step.startsWith("SEARCH reeve_memory_term"));
  expect(ofTerms.length).toBeGreaterThan(4);
  for (const step of ofTerms) expect(step).toMatch(/tenant_id=\? AND owner=\? AND (term=|item>)\?/);
  expect(steps.filter((step) => /^SCAN (?!\d+-ROW VALUES)/.test(step))).toEqual([]);
});

test("sessions of an older version keep their entries and their user", async () => {
  const old = join(folder, "old.db");
  const file = new DatabaseSync(old);
  for (const statement of oldSessions("sqlite")) file.exec(statement);
  file.close();
  await using store = await sqliteStore({ path: old });
  await expectKept(store);
});

test("manifests, texts and cached answers of before number 16 are read", async () => {
  const old = join(folder, "permanence.db");
  {
    await using store = await sqliteStore({ path: old });
    await writePermanence(store);
  }
  const file = new DatabaseSync(old);
  for (const statement of undoPermanence) file.exec(statement);
  file.close();
  await using store = await sqliteStore({ path: old });
  await expectPermanence(store);
});

test("a file that a newer release has migrated is refused, and left as it is", async () => {
  const newer = join(folder, "newer.db");
  await (await sqliteStore({ path: newer }))[Symbol.asyncDispose]();
  const file = new DatabaseSync(newer);
  file.exec("insert into reeve_migration (number) values (99)");
  const tables = (): unknown => file.prepare("select name, sql from sqlite_master order by name").all();
  const before = tables();
  await expect(sqliteStore({ path: newer })).rejects.toThrow(
    /^the store was migrated by a newer release of reeve: its schema has number 99, this release knows numbers up to \d+\. /,
  );
  expect(tables()).toEqual(before);
  file.close();
});

test("a forgotten fact, an edited block and an erased user leave no content in the file", async () => {
  const erased = await mkdtemp(join(folder, "erased-"));
  const store = await sqliteStore({ path: join(erased, "store.db") });
  const acme = Partition.of("acme");
  const [ann, bob] = [MemoryOwner.user(UserId.of("ann")), MemoryOwner.user(UserId.of("bob"))];
  const words = {
    fact: "kept-fact-word",
    term: "kept-term",
    block: "kept-block-word",
    vector: "kept-embedder",
  };
  const write = { runId: null, labels: Labels.none };
  const fact = { id: "f", key: "k", value: words.fact, validFrom: 1, validTo: null, recordedAt: 1, ...write };
  const edit = { text: words.block, limit: 99, at: 1, version: 0, terms: [words.term], ...write };
  const vector = { item: MemoryItem.fact("f"), embedder: words.vector, at: 1, vector: [1] };
  for (const owner of [ann, bob]) {
    await store.memory.remember(acme, owner, fact, { terms: [words.term] });
    await store.memory.editBlock(acme, owner, "human", { id: "b", ...edit });
    await store.vectors?.put(acme, owner, [vector]);
  }
  expect(await readable(erased, words)).toEqual(["block", "fact", "term", "vector"]);
  await store.memory.forget(acme, ann, { id: "forget", key: "k" });
  await store.memory.editBlock(acme, ann, "human", { id: "b2", ...edit, text: "", version: 1, terms: [] });
  expect(await readable(erased, words)).toEqual(["block", "fact", "term", "vector"]);
  await store.eraseUser(acme, UserId.of("bob"));
  // Also in the log, and while the store is open.
  expect(await readable(erased, words)).toEqual([]);
  await store[Symbol.asyncDispose]();
});
