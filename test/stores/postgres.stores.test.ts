import * as fc from "fast-check";
import { Client } from "pg";
import { environmentKeys, sealedStore } from "reeve/store";
import { postgresStore } from "reeve/stores/postgres";
import { storeSuite, type StoreHarness } from "reeve/testing/suites";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentId, EventId, type NumberedEvent, RunId, Spend, TenantId, TreeId } from "#kernel";
import { sessionProperty } from "../agents/session/session-property.ts";
import { readable, speak } from "../sealing/canaries.ts";
import { type PostgresServer, postgresServer } from "./postgres-server.ts";
import { factProperty } from "./fact-property.ts";
import { expectKept, oldSessions } from "./old-sessions.ts";
import { auditTampering } from "./audit-tampering.ts";
import { expectPermanence, undoPermanence, writePermanence } from "./old-permanence.ts";
import { appendAndTail, decideInTwo, takeFromLimit } from "./two-processes.ts";
import { expectTurnsKept, turnEffort, turnTimeoutMs } from "./turns-in-two-processes.ts";
import { propertyRuns } from "../effort.ts";

let server: PostgresServer;
let connectionString: string;

beforeAll(async () => {
  server = await postgresServer();
  connectionString = await server.database();
});

afterAll(() => server[Symbol.asyncDispose]());

const tree = TreeId.of("books");
const acme = { tenantId: TenantId.of("acme") };
const never = new AbortController().signal;

function eventOf(seq: number): NumberedEvent {
  const runId = RunId.root(tree);
  const base = { treeId: tree, runId, agent: AgentId.of("writer"), at: seq, attempt: null };
  return { ...base, seq, type: "cycle.start", eventId: EventId.of(runId, String(seq)), step: seq };
}

const harness: StoreHarness = {
  open: () => postgresStore({ connectionString }),
  cut: async () => {
    const cut = await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'reeve%'",
    );
    expect(cut.length).toBeGreaterThan(0);
  },
};

test.each(storeSuite.map((each) => [each.name, each] as const))("postgres: %s", async (_, each) => {
  await each.run(harness);
});

test("random operations and crashes leave sessions equal to a simple model", async () => {
  const { sessions } = await postgresStore({ connectionString });
  await fc.assert(
    sessionProperty(() => sessions),
    { numRuns: propertyRuns(100) },
  );
});

test("a back-dated fact never inverts valid time, in any order of facts", async () => {
  await using store = await postgresStore({ connectionString });
  await fc.assert(
    factProperty(async () => store),
    { numRuns: propertyRuns(40) },
  );
});

test("two processes that append and tail 10,000 events see no gap, no duplicate and one order", async () => {
  const total = 10_000;
  const store = { postgres: connectionString };
  const [one = [], other] = await appendAndTail({ store, tenant: "two", total });
  expect(one.map((line) => Number.parseInt(line, 10))).toEqual(
    Array.from({ length: total }, (_, n) => n + 1),
  );
  expect(other).toEqual(one);
});

test("two processes that decide at once for one tenant write one audit chain without loss or duplicate", async () => {
  const store = await postgresStore({ connectionString });
  await decideInTwo(store, { store: { postgres: connectionString }, tenant: "decided", total: 40 });
  await store[Symbol.asyncDispose]();
});

test("any change of the rows of an audit is detected with its position", async () => {
  const url = await server.database();
  const store = await postgresStore({ connectionString: url });
  await auditTampering(store, (statement) => server.query(statement, url));
  await store[Symbol.asyncDispose]();
});

test(
  `two processes that take ${turnEffort.turns} turns keep every saved one, though they are frozen and killed`,
  async () => {
    const url = await server.database();
    await using store = await postgresStore({ connectionString: url });
    await expectTurnsKept(store, { postgres: url });
  },
  turnTimeoutMs,
);

test("two processes that share a limit together get no more than the limit", async () => {
  const granted = await takeFromLimit({
    store: { postgres: connectionString },
    tenant: "limited",
    total: 200,
  });
  expect(granted.flat()).toHaveLength(200);
});

test("a query without its tenant finds nothing, and its write for another tenant is refused", async () => {
  const url = await server.database();
  const store = await postgresStore({ connectionString: url });
  await store.events.append(acme, tree, [eventOf(1)]);
  const client = new Client({ connectionString: url });
  await client.connect();
  const count = async (): Promise<unknown> =>
    (await client.query("select count(*)::int as count from reeve_event")).rows[0];
  expect(await count()).toEqual({ count: 0 });
  await client.query("begin; set local reeve.tenant = 'other'");
  expect(await count()).toEqual({ count: 0 });
  await client.query("rollback; begin; set local reeve.tenant = 'acme'");
  expect(await count()).toEqual({ count: 1 });
  const foreign = "insert into reeve_event values ('other', 't', 1, '{}')";
  await expect(client.query(foreign)).rejects.toThrow("row-level security");
  await client.end();
  await store[Symbol.asyncDispose]();
});

test("row-level security is enforced on every table, even for its owner", async () => {
  const url = await server.database();
  await (await postgresStore({ connectionString: url }))[Symbol.asyncDispose]();
  const tables = await server.query(
    `select relname, relrowsecurity and relforcerowsecurity as guarded from pg_class
     where relkind = 'r' and relname like 'reeve_%' order by relname`,
    url,
  );
  expect(tables.filter(({ guarded }) => guarded !== true)).toEqual([
    { relname: "reeve_migration", guarded: false },
  ]);
  expect(tables.length).toBe(27);
});

test("sessions of an older version keep their entries and their user", async () => {
  const url = await server.database();
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const statement of oldSessions("postgres")) await client.query(statement);
  await client.end();
  await using store = await postgresStore({ connectionString: url });
  await expectKept(store);
});

test("spend recorded before the table of sums existed is added to the sums of its tenant", async () => {
  const url = await server.database();
  const wanted = { from: 0, to: 48, by: ["day"], limit: 9 } as const;
  const tenants = [acme, { tenantId: TenantId.of("other") }];
  {
    await using store = await postgresStore({ connectionString: url });
    for (const [index, tenant] of tenants.entries()) {
      const figures = { ...Spend.none, settledMicros: 7 + index };
      const rows = [{ ...figures, hour: 30, agentType: "lead", model: "m" }];
      await store.spend.put(tenant, tree, { userId: null, seq: 1, rolledSeq: 0, rows, calls: [] });
    }
  }
  await server.query("drop table reeve_spend_sum; delete from reeve_migration where number = 15", url);
  await using store = await postgresStore({ connectionString: url });
  const sums = await Promise.all(tenants.map((tenant) => store.spend.sum(tenant, wanted)));
  expect(sums).toMatchObject([[{ day: 1, settledMicros: 7 }], [{ day: 1, settledMicros: 8 }]]);
});

test("manifests, texts and cached answers of before number 16 are read", async () => {
  const url = await server.database();
  {
    await using store = await postgresStore({ connectionString: url });
    await writePermanence(store);
  }
  for (const statement of undoPermanence) await server.query(statement, url);
  await using store = await postgresStore({ connectionString: url });
  await expectPermanence(store);
});

test("a role that bypasses row-level security is refused with the remedy", async () => {
  const url = connectionString.replace("reeve@", "postgres@");
  await expect(postgresStore({ connectionString: url })).rejects.toThrow("create role reeve login");
});

test("many processes may open an empty database at once", async () => {
  const url = await server.database();
  const stores = await Promise.all(Array.from({ length: 5 }, () => postgresStore({ connectionString: url })));
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  expect(await server.query("select number from reeve_migration", url)).toEqual(
    Array.from({ length: 21 }, (_, index) => ({ number: index + 1 })),
  );
});

test("a database that a newer release has migrated is refused", async () => {
  const url = await server.database();
  await (await postgresStore({ connectionString: url }))[Symbol.asyncDispose]();
  await server.query("insert into reeve_migration (number) values (99)", url);
  await expect(postgresStore({ connectionString: url })).rejects.toThrow(
    "the store was migrated by a newer release of reeve: its schema has number 99",
  );
});

test("notifications name a tree and a sequence, at most 20 a second, and the last one is always sent", async () => {
  const store = await postgresStore({ connectionString });
  const client = new Client({ connectionString });
  await client.connect();
  await client.query("listen reeve_event");
  const heard: { readonly at: number; readonly payload: string }[] = [];
  const last = Promise.withResolvers<void>();
  client.on("notification", ({ payload = "" }) => {
    if (!payload.endsWith("loud")) return;
    heard.push({ at: performance.now(), payload });
    if (payload.startsWith("300 ")) last.resolve();
  });
  const loud = TreeId.of("loud");
  const began = performance.now();
  for (let seq = 1; seq <= 300; seq += 1) await store.events.append(acme, loud, [eventOf(seq)]);
  await last.promise;
  const seconds = (performance.now() - began) / 1_000;
  expect(heard.length).toBeGreaterThan(1);
  expect(heard.length).toBeLessThanOrEqual(Math.ceil(seconds * 20) + 1);
  expect(heard.every(({ payload }) => /^\d+ \S*loud$/.test(payload))).toBe(true);
  await client.end();
  await store[Symbol.asyncDispose]();
});

test("a reader is notified again after its listening connection was cut, without polling", async () => {
  const url = await server.database();
  const reader = await postgresStore({ connectionString: url, pollIntervalMs: 3_600_000 });
  const writer = await postgresStore({ connectionString: url });
  for (const seq of [1, 2, 3]) {
    const waiting = reader.events.waitForEvents(acme, tree, { after: seq - 1, signal: never });
    await harness.cut?.();
    await writer.events.append(acme, tree, [eventOf(seq)]);
    await waiting;
  }
  expect(await reader.events.read(acme, tree, { after: 0, limit: 9 })).toEqual([1, 2, 3].map(eventOf));
  await reader[Symbol.asyncDispose]();
  await writer[Symbol.asyncDispose]();
});

test("a writer that closes at once has sent notifications for all its writes", async () => {
  const url = await server.database();
  const reader = await postgresStore({ connectionString: url, pollIntervalMs: 3_600_000 });
  const writer = await postgresStore({ connectionString: url });
  const waiting = reader.events.waitForEvents(acme, tree, { after: 9, signal: never });
  for (let seq = 1; seq <= 10; seq += 1) await writer.events.append(acme, tree, [eventOf(seq)]);
  await writer[Symbol.asyncDispose]();
  await waiting;
  await reader[Symbol.asyncDispose]();
});

/** Inserts a row without a notification. */
async function insertBehind(url: string, event: NumberedEvent): Promise<void> {
  const body = JSON.stringify(event).replaceAll("'", "''");
  await server.query(`insert into reeve_event values ('acme', '${tree}', ${event.seq}, '${body}')`, url);
}

test("a reader without notifications polls", async () => {
  const url = await server.database();
  const reader = await postgresStore({ connectionString: url, pollIntervalMs: 50 });
  const waiting = reader.events.waitForEvents(acme, tree, { after: 0, signal: never });
  // Once it listens: a new connection also triggers a read.
  const listening = `select 1 from pg_stat_activity
    where datname = current_database() and state = 'idle' and query = 'listen reeve_event'`;
  while ((await server.query(listening, url)).length === 0);
  await insertBehind(url, eventOf(1));
  await waiting;
  const again = reader.events.waitForEvents(acme, tree, { after: 1, signal: never });
  await insertBehind(url, eventOf(2));
  await again;
  expect(await reader.events.read(acme, tree, { after: 0, limit: 9 })).toEqual([eventOf(1), eventOf(2)]);
  await reader[Symbol.asyncDispose]();
});

test("without a seal the files of PostgreSQL contain the content, with one they do not", async () => {
  const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
  const store = await postgresStore({ connectionString: await server.database() });
  const plain = await speak(store, acme);
  const sealed = await speak(sealedStore(store, keys), { tenantId: TenantId.of("sealed") });
  await server.query("checkpoint");
  expect(await readable(server.folder, plain)).toEqual(Object.keys(plain).toSorted());
  expect(await readable(server.folder, sealed)).toEqual([]);
  await store[Symbol.asyncDispose]();
});
