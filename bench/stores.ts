import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentId, type NumberedEvent, RunId, TenantId, TreeId } from "reeve";
import { EventId, type Store } from "reeve/store";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { postgresServer } from "../test/stores/postgres-server.ts";

const acme = { tenantId: TenantId.of("acme") };
const runs = 1_000_000;
const rounds = 101;

/** Shows the median of each, in milliseconds. They take turns, so that a busy machine is busy for all of them. */
async function show(works: Readonly<Record<string, () => Promise<unknown>>>): Promise<readonly number[]> {
  const times = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
  for (let n = 0; n < rounds; n += 1)
    for (const [name, work] of Object.entries(works)) {
      const began = performance.now();
      await work();
      times.get(name)?.push(performance.now() - began);
    }
  return [...times].map(([name, unsorted]) => {
    const sorted = unsorted.toSorted((a, b) => a - b);
    const [median = 0, late = 0] = [sorted[Math.floor(rounds / 2)], sorted[Math.floor(rounds * 0.95)]];
    console.log(`${name.padEnd(58)} ${median.toFixed(1).padStart(6)} ms  19 of 20 within ${late.toFixed(1)}`);
    return median;
  });
}

async function appends(name: string, store: Store): Promise<void> {
  for (const batch of [1, 100]) {
    const of = TreeId.of(`append-${batch}`);
    const runId = RunId.root(of);
    let seq = 0;
    const began = performance.now();
    while (performance.now() - began < 3_000) {
      const events = Array.from({ length: batch }, (): NumberedEvent => {
        seq += 1;
        const base = { treeId: of, runId, agent: AgentId.of("writer"), at: seq, attempt: null, seq };
        return { ...base, type: "cycle.start", eventId: EventId.of(runId, String(seq)), step: seq };
      });
      await store.events.append(acme, of, events);
    }
    const rate = Math.round(seq / ((performance.now() - began) / 1_000));
    console.log(
      `${name}: events appended a second, ${batch} at a time, one writer: ${rate.toLocaleString("en")}`,
    );
  }
}

async function sqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "reeve-bench-"));
  const path = join(folder, "store.db");
  const store = await sqliteStore({ path });
  await appends("sqlite", store);
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
}

async function postgres(): Promise<void> {
  const server = await postgresServer({ fsync: "on" });
  try {
    const url = await server.database();
    const store = await postgresStore({ connectionString: url });
    const statuses = "(array['completed','completed','completed','landed','failed','cancelled','running'])";
    await server.query(
      `insert into reeve_run select 'acme', 't' || n || '~0', 't' || n, case when n % 4 = 0 then null else 't~0' end,
         'agent' || (n % 50), 'agent' || (n % 50), 'user' || (n % 1000), 's' || (n % 10000),
         ${statuses}[1 + n % 7], 'answer', n, n + 5, n, 1 from generate_series(1, ${runs}) n;
       insert into reeve_run select 'rare', 'r' || n || '~0', 'r' || n, null, 'a', 'a', '', 's', 'running', null, n, null, 0, 1
         from generate_series(1, 100) n;
       analyze`,
      url,
    );
    const first = await store.runs.list(acme, {}, { size: 50 });
    const middle = btoa(JSON.stringify([runs / 2, "t"]));
    const list = (filter: Parameters<Store["runs"]["list"]>[1], after?: string) => (): Promise<unknown> =>
      store.runs.list(acme, filter, after === undefined ? { size: 50 } : { size: 50, after });
    const rare = { tenantId: TenantId.of("rare") };
    await show({
      [`postgres: first page of ${runs.toLocaleString("en")} runs`]: list({}),
      "postgres: second page": list({}, first.next ?? ""),
      "postgres: a page in the middle": list({}, middle),
      "postgres: by status, first page": list({ status: "failed" }),
      "postgres: by status, in the middle": list({ status: "failed" }, middle),
      "postgres: by agent type, first page": list({ agentType: "agent7" }),
      "postgres: by agent type, in the middle": list({ agentType: "agent7" }, middle),
      "postgres: by agent type and status": list({ agentType: "agent7", status: "failed" }),
      "postgres: roots only": list({ rootsOnly: true }),
      "postgres: a tree": () => store.runs.tree(acme, TreeId.of("t7")),
      "postgres: a small tenant beside a large one": () => store.runs.list(rare, {}, { size: 50 }),
    });
    await appends("postgres", store);
    await store[Symbol.asyncDispose]();
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

await sqlite();
await postgres();
