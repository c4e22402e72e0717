import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  AgentId,
  createRuntime,
  type Agent,
  type FailureRecord,
  type NumberedEvent,
  type RunHandle,
} from "reeve";
import type { Store } from "reeve/store";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type PostgresServer, postgresServer } from "./postgres-server.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await postgresServer();
});

afterAll(() => server[Symbol.asyncDispose]());

/** Stores that reject a name and an event with the word `poison`. */
const stores: Readonly<Record<string, () => Promise<Store>>> = {
  postgres: async () => {
    const url = await server.database();
    const store = await postgresStore({ connectionString: url });
    const columns = { reeve_run: "name", reeve_event: "body" };
    for (const [table, column] of Object.entries(columns))
      await server.query(
        `alter table ${table} add constraint poison check (${column} not like '%poison%')`,
        url,
      );
    return store;
  },
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), "reeve-rejected-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "store.db");
    const store = await sqliteStore({ path });
    const file = new DatabaseSync(path);
    const columns = { reeve_run: "name", reeve_event: "body" };
    for (const [table, column] of Object.entries(columns))
      file.exec(`create trigger poison_${table} before insert on ${table} when new.${column} like '%poison%'
        begin select raise(abort, 'poison'); end`);
    file.close();
    return store;
  },
};

const emitting = (name: string, word: string): Agent => ({
  id: AgentId.of(name),
  run: async (ctx) => {
    for (const each of ["before", word, "after"]) await ctx.emit(each);
    return "done";
  },
});
const writer = emitting("writer", "tea");
const other = emitting("other", "poison");

async function eventsOf(run: RunHandle<unknown>): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

const emitted = (events: readonly NumberedEvent[]): unknown =>
  events.flatMap((event) => (event.type === "progress.emitted" ? [event.data] : []));

test.each(Object.keys(stores))(
  "%s: a tree with values that the store rejects is stored in reduced form, others in full, with an alarm",
  async (name) => {
    const open = stores[name];
    if (!open) throw new Error(`no store ${name}`);
    await using store = await open();
    const log: FailureRecord[] = [];
    let reduced = 0;
    const telemetry = { take: () => undefined, takeReduced: () => void (reduced += 1) };
    await using runtime = createRuntime({
      agents: [writer, other],
      store,
      telemetry,
      log: (failure) => log.push(failure),
    });
    const tenant = "acme";
    const ids = ["one", "spoiled", "two"];
    const runs = await Promise.all(
      ids.map((id) =>
        id === "spoiled"
          ? runtime.start(other, "go", { id, tenant, name: "poison" })
          : runtime.start(writer, "go", { id, tenant, name: `the name of ${id}` }),
      ),
    );
    const events = await Promise.all(runs.map(eventsOf));
    expect(events.map(emitted)).toEqual([
      ["before", "tea", "after"],
      ["before", null, "after"],
      ["before", "tea", "after"],
    ]);
    for (const each of events) expect(each.map(({ seq }) => seq)).toEqual(each.map((_, index) => index + 1));
    const { items } = await runtime.runs.list({ tenant });
    expect(new Map(items.map((run) => [run.treeId, [run.name, run.status]]))).toEqual(
      new Map([
        ["one", ["the name of one", "completed"]],
        ["spoiled", [null, "completed"]],
        ["two", ["the name of two", "completed"]],
      ]),
    );
    // Readers get the last events while the write that stored them still waits for its answer.
    await expect.poll(() => runtime.storeHealth).toEqual({ lagMs: 0, failedWrites: 0, reducedTrees: 1 });
    expect(reduced).toBe(1);
    expect(log).toMatchObject([
      {
        tree: "spoiled",
        diagnostic: {
          source: "the writer of the store",
          name: "store-rejected",
          message: expect.stringContaining("is stored in reduced form; trees so far: 1"),
        },
      },
    ]);
  },
);

test.each(Object.keys(stores))(
  "%s: after several rejections, the audit names the tree, also in another process",
  async (name) => {
    const open = stores[name];
    if (!open) throw new Error(`no store ${name}`);
    await using store = await open();
    {
      await using runtime = createRuntime({ agents: [other], store, log: () => undefined });
      // The store rejects its run and one of its events.
      await eventsOf(await runtime.start(other, "go", { id: "spoiled", name: "poison" }));
      await expect.poll(() => runtime.storeHealth?.reducedTrees).toBe(1);
    }
    await using later = createRuntime({ agents: [other], store, log: () => undefined });
    const { items } = await later.audit.list({ kind: "retention", tree: "spoiled" });
    expect(items).toMatchObject([
      { data: { decision: "reduced", tree: "spoiled", reason: expect.stringMatching(/./) } },
    ]);
    expect(await later.audit.verify()).toMatchObject({ ok: true });
  },
);

test("PostgreSQL: characters and numbers that its columns cannot hold are rejected for good", async () => {
  await using store = await postgresStore({ connectionString: await server.database() });
  const worker = { id: "w", url: "http://w", expiresAt: 2_000, lagMs: 0, failedWrites: 0, reducedTrees: 0 };
  const announce = (change: object): Promise<void> => store.workers.announce({ ...worker, ...change }, 1);
  await expect(announce({ url: "a\0b" })).rejects.toMatchObject({ code: "store-rejected", reason: "22021" });
  await expect(announce({ lagMs: 1e19 })).rejects.toMatchObject({ code: "store-rejected", reason: "22003" });
  await expect(announce({ lagMs: 1.5 })).rejects.toMatchObject({ code: "store-rejected", reason: "22P02" });
});
