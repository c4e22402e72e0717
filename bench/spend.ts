import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime } from "reeve";
import { listen } from "reeve/server";
import type { Store } from "reeve/store";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { say, scriptedModel } from "reeve/testing";
import { postgresServer } from "../test/stores/postgres-server.ts";

/*
 * The pages of the dashboard at the server, over HTTP, with 1,000,000 runs: 250,000 trees of 4 runs over 60 days, in SQLite, or
 * in PostgreSQL with the argument `postgres`. The money of trees that are older than 40 days is added up by day, as the
 * projector does it.
 */

const runs = 1_000_000;
const trees = runs / 4;
const days = 60;
const rounds = 21;
const hourMs = 3_600_000;
const now = Date.now();
const hour = Math.floor(now / hourMs);

/** A database to measure, and the means to fill it from outside of the store. */
interface Place {
  open(): Promise<Store>;
  load(statements: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

async function sqlitePlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "reeve-bench-"));
  const path = join(folder, "store.db");
  return {
    open: () => sqliteStore({ path }),
    load: async (statements) => {
      const file = new DatabaseSync(path);
      file.exec("pragma synchronous = off");
      for (const statement of statements) file.exec(statement);
      file.close();
    },
    close: () => rm(folder, { recursive: true }),
  };
}

async function postgresPlace(): Promise<Place> {
  const server = await postgresServer();
  const connectionString = await server.database();
  return {
    open: () => postgresStore({ connectionString }),
    load: async (statements) => {
      for (const statement of statements) await server.query(statement, connectionString);
    },
    close: () => server[Symbol.asyncDispose](),
  };
}

const upTo = (count: number): string =>
  `with recursive n(n) as (select 0 union all select n + 1 from n where n < ${count - 1})`;

/** The tables as they are after 60 days. The sums are left to the migration. */
const rows = [
  `${upTo(runs)}
    insert into reeve_run (tenant_id, run_id, tree_id, parent_run_id, agent_id, agent_type, user_id, session_id, status,
        stop_reason, started_at, ended_at, spend, seq, name, agents, live_agents)
      select '-', 't' || (n / 4) || '~' || (n % 4), 't' || (n / 4), case n % 4 when 0 then null else 't' || (n / 4) || '~0' end,
        'agent' || (n % 4 + n / 4 % 5), 'agent' || (n % 4 + n / 4 % 5), 'user' || (n / 4 % 1000), 's' || (n / 4 % 10000),
        case n / 4 % 20 when 0 then 'landed' when 1 then 'failed' when 2 then case when n < 4000 then 'running' else 'completed' end
          else 'completed' end,
        case n / 4 % 20 when 0 then 'budget.cost' when 1 then 'error' when 2 then null else 'answer' end,
        ${now} - cast(n as bigint) * ${(days * 24 * hourMs) / runs}, ${now}, n % 5000, 9,
        case n % 4 when 0 then 'Report ' || (n / 4) end, 4, 0 from n`,
  `${upTo(runs)}
    insert into reeve_spend select '-', ${hour} - cast(n / 4 as bigint) * ${days * 24} / ${trees}, 't' || (n / 4),
        'user' || (n / 4 % 1000), 'agent' || (n % 4 + n / 4 % 5), case n % 4 when 3 then '' else 'model' || (n % 3) end,
        3, 1000, 100, 500, n % 5000, 0, 1, 0, 0 from n`,
  `${upTo(trees)}
    insert into reeve_spend_tree
      select '-', 't' || n, 'user' || (n % 1000), 9, 0, ${hour} - cast(n as bigint) * ${days * 24} / ${trees}, 0 from n`,
  "drop table reeve_spend_sum",
  "delete from reeve_migration where number = 15",
  "analyze",
];

const seconds = async (work: () => Promise<unknown>): Promise<string> => {
  const began = performance.now();
  await work();
  return `${((performance.now() - began) / 1_000).toFixed(1)} s`;
};

const place = await (process.argv[2] === "postgres" ? postgresPlace() : sqlitePlace());
await (await place.open())[Symbol.asyncDispose]();
console.log(`filled in ${await seconds(() => place.load(rows))}`);
const opened = performance.now();
const store = await place.open();
console.log(`sums made by the migration in ${((performance.now() - opened) / 1_000).toFixed(1)} s`);
await place.load(["analyze"]);
const compact = async (): Promise<void> => {
  for (let some = 1; some > 0;) some = await store.spend.compact({ tenantId: null }, hour - 40 * 24);
};
console.log(`added up trees of before 40 days in ${await seconds(compact)}`);
await place.load(["analyze"]);

const lead = agent({ name: "lead", description: "Leads", model: scriptedModel([say("done")]) });
const runtime = createRuntime({ agents: [lead], store });
const { runId } = await runtime.start(lead, "Report", { id: "real" });
await runtime.run(runId).result();
const server = await listen({ runtime, auth: "none", port: 0, limits: { requestsPerMinute: 1e9 } });
const day = 24 * hourMs;
const today = Math.floor(now / day) * day;
const from = (count: number): string => `from=${today - (count - 1) * day}&to=${today + day}&size=10000`;
const addresses: Readonly<Record<string, string>> = {
  "runs, first page of 100 roots": "/runs?roots=true&size=100",
  "runs, live": "/runs?roots=true&status=running,waiting,paused,pending&size=100",
  "runs, an agent that is not a root": "/runs?roots=true&agent=agent7&size=100",
  "runs, agent and status, none found": "/runs?roots=true&agent=agent1&status=cancelled&size=100",
  "runs, stopped by a budget": `/runs?roots=true&stop=budget.cost,budget.tokens,budget.turns,budget.agents,deadline&size=6`,
  "runs, beginning of an id": "/runs?id=t12&size=100",
  "runs, beginning of a name": "/runs?name=Report%2099&size=100",
  "runs, at least so dear": "/runs?minSpend=4000&size=100",
  "the tree of a run": "/runs/real/view",
  "the steps of a run": "/runs/real/steps",
  "a step": `/runs/real/steps/${encodeURIComponent("real~0:model:1")}`,
  tenant: "/tenant",
  "spend, 1 day by hour and model": `/spend?${from(1)}&by=hour,model`,
  "spend, 14 days by day and model": `/spend?${from(14)}&by=day,model`,
  "spend, 30 days by day and model": `/spend?${from(30)}&by=day,model`,
  "spend, 60 days by agent and model": `/spend?${from(60)}&by=agent,model`,
  "spend, 14 days of one user": `/spend?${from(14)}&by=day,model&user=user7`,
  "spend, 14 days by day and user": `/spend?${from(14)}&by=day,user&topUsers=20`,
  "spend, 14 days by day and every user": `/spend?${from(14)}&by=day,user`,
  "spend, 14 days, the dearest users": `/spend?${from(14).replace("10000", "5")}&by=user`,
  "spend, dearest trees of a day": `/spend?from=${today}&to=${today + day}&by=tree&size=12`,
};
for (const [name, address] of Object.entries(addresses)) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const reply = await fetch(server.url + address);
    const body = await reply.text();
    if (!reply.ok) throw new Error(`${address}: ${body}`);
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const [median = 0, late = 0] = [sorted[Math.floor(rounds / 2)], sorted[Math.floor(rounds * 0.95)]];
  console.log(`${name.padEnd(40)} ${median.toFixed(1).padStart(7)} ms  19 of 20 within ${late.toFixed(1)}`);
}
await server[Symbol.asyncDispose]();
await runtime[Symbol.asyncDispose]();
await place.close();
