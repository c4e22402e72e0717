import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime } from "reeve";
import { listen } from "reeve/server";
import { sqliteStore } from "reeve/stores/sqlite";
import { say, scriptedModel } from "reeve/testing";

/*
 * The pages of the dashboard at the server, over HTTP, with 1,000,000 runs in SQLite: 250,000 trees of 4 runs over 60 days. The
 * money of trees that are older than 40 days is added up by day, as the projector does it.
 */

const runs = 1_000_000;
const trees = runs / 4;
const days = 60;
const rounds = 21;
const hourMs = 3_600_000;

const folder = await mkdtemp(join(tmpdir(), "reeve-bench-"));
const path = join(folder, "store.db");
const now = Date.now();
const hour = Math.floor(now / hourMs);

/** Fills the tables as they are after 60 days. */
function fill(): void {
  const file = new DatabaseSync(path);
  file.exec(`
    pragma synchronous = off;
    with recursive n(n) as (select 0 union all select n + 1 from n where n < ${runs - 1})
    insert into reeve_run (tenant_id, run_id, tree_id, parent_run_id, agent_id, agent_type, user_id, session_id, status,
        stop_reason, started_at, ended_at, spend, seq, name, agents, live_agents)
      select '-', 't' || (n / 4) || '~' || (n % 4), 't' || (n / 4), case n % 4 when 0 then null else 't' || (n / 4) || '~0' end,
        'agent' || (n % 4 + n / 4 % 5), 'agent' || (n % 4 + n / 4 % 5), 'user' || (n / 4 % 1000), 's' || (n / 4 % 10000),
        case n / 4 % 20 when 0 then 'landed' when 1 then 'failed' when 2 then 'running' else 'completed' end,
        case n / 4 % 20 when 0 then 'budget.cost' when 1 then 'error' when 2 then null else 'answer' end,
        ${now} - n * ${(days * 24 * hourMs) / runs}, ${now}, n % 5000, 9,
        case n % 4 when 0 then 'Report ' || (n / 4) end, 4, 0 from n;
    with recursive n(n) as (select 0 union all select n + 1 from n where n < ${runs - 1})
    insert into reeve_spend select '-', ${hour} - n / 4 * ${days * 24} / ${trees}, 't' || (n / 4), 'user' || (n / 4 % 1000),
        'agent' || (n % 4 + n / 4 % 5), case n % 4 when 3 then '' else 'model' || (n % 3) end, 3, 1000, 100, 500,
        n % 5000, 0, 1, 0, 0 from n;
    with recursive n(n) as (select 0 union all select n + 1 from n where n < ${trees - 1})
    insert into reeve_spend_tree select '-', 't' || n, 'user' || (n % 1000), 9, 0, ${hour} - n * ${days * 24} / ${trees}, 0 from n;`);
  file.close();
}

const store = await sqliteStore({ path });
fill();
const began = performance.now();
let added = 0;
for (let some = 1; some > 0; added += some)
  some = await store.spend.compact({ tenantId: null }, hour - 40 * 24);
console.log(`added up ${added} trees in ${((performance.now() - began) / 1000).toFixed(1)} s`);

const lead = agent({ name: "lead", description: "Leads", model: scriptedModel([say("done")]) });
const runtime = createRuntime({ agents: [lead], store });
const server = await listen({ runtime, auth: "none", port: 0, limits: { requestsPerMinute: 1e9 } });
const day = 24 * hourMs;
const today = Math.floor(now / day) * day;
const from = (count: number): string => `from=${today - (count - 1) * day}&to=${today + day}&size=10000`;
const addresses: Readonly<Record<string, string>> = {
  "runs, first page of 100 roots": "/runs?roots=true&size=100",
  "runs, live": "/runs?roots=true&status=running,waiting,paused,pending&size=100",
  "runs, an agent that is no root": "/runs?roots=true&agent=agent7&size=100",
  "runs, agent and status, none found": "/runs?roots=true&agent=agent1&status=cancelled&size=100",
  "runs, stopped by a budget": `/runs?roots=true&stop=budget.cost,budget.tokens,budget.turns,budget.agents,deadline&size=6`,
  "runs, beginning of an id": "/runs?id=t12&size=100",
  "runs, beginning of a name": "/runs?name=Report%2099&size=100",
  "runs, at least so dear": "/runs?minSpend=4000&size=100",
  tenant: "/tenant",
  "spend, 1 day by hour and model": `/spend?${from(1)}&by=hour,model`,
  "spend, 14 days by day and model": `/spend?${from(14)}&by=day,model`,
  "spend, 30 days by day and model": `/spend?${from(30)}&by=day,model`,
  "spend, 60 days by agent and model": `/spend?${from(60)}&by=agent,model`,
  "spend, 14 days of one user": `/spend?${from(14)}&by=day,model&user=user7`,
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
await rm(folder, { recursive: true });
