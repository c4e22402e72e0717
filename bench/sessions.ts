// A turn in a session of 1,000 and of 100,000 entries: the window it reads, and the turn it writes.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ChatMessage, RunId, SessionId, TenantId, TreeId } from "reeve";
import { type EntryDraft, EntryId, getPromptWindow, Session, type Store } from "reeve/store";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { postgresServer } from "../test/stores/postgres-server.ts";

const acme = { tenantId: TenantId.of("acme") };
const lengths = [1_000, 100_000] as const;
const rounds = 61;

/** A chain of messages on the main branch. */
function chain(length: number, series: string): string {
  const message = ChatMessage.user(
    "some words that were said, about as many as there are in a short message",
  );
  const body = JSON.stringify({ type: "message", message, tokens: 20 });
  const key = `'acme', '', 's${length}'`;
  return `
    insert into reeve_session values (${key}, 1, 1, null, null, null, '{}', 1, null, null, ${length});
    insert into reeve_entry select ${key}, 'e' || n, n, case when n = 1 then null else 'e' || (n - 1) end, '', n,
      '${body}' from ${series};
    insert into reeve_leaf values (${key}, '', 'e${length}')`;
}

interface Cost {
  readonly ms: number[];
  readonly cpuMs: number[];
}

/** Measures works that take turns, so that a busy machine is busy for all of them. Prints medians and their ratio. */
async function compare(name: string, works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const costs = works.map((): Cost => ({ ms: [], cpuMs: [] }));
  for (let n = 0; n < rounds; n += 1)
    for (const [index, work] of works.entries()) {
      const [began, cpu] = [performance.now(), process.cpuUsage()];
      await work();
      const { user, system } = process.cpuUsage(cpu);
      costs[index]?.ms.push(performance.now() - began);
      costs[index]?.cpuMs.push((user + system) / 1_000);
    }
  for (const unit of ["ms", "cpuMs"] as const) {
    const [short = 0, long = 0] = costs.map((cost) => median(cost[unit]));
    const ratio = (long / short).toFixed(2);
    console.log(
      `${name.padEnd(44)} ${unit.padEnd(5)} ${short.toFixed(1)} and ${long.toFixed(1)}: ratio ${ratio}`,
    );
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[rounds >> 1] ?? 0;

async function measure(name: string, store: Store): Promise<void> {
  const sessions = lengths.map(
    (length) => new Session(store.sessions, acme, { id: SessionId.of(`s${length}`), userId: null }),
  );
  let turns = 0;
  const turn = async (session: Session): Promise<void> => {
    const run = RunId.root(TreeId.of(`turn-${(turns += 1)}`));
    const drafts = Array.from({ length: 8 }, (_, n): EntryDraft => {
      const message = ChatMessage.user("a message of the turn");
      return { id: EntryId.ofRun(run, n), at: 1, type: "message", message };
    });
    const follows = await session.leaf();
    await session.append(drafts, { branch: run, after: follows });
    await session.adopt(run, { last: EntryId.ofRun(run, drafts.length - 1), follows });
  };
  for (const maxMessages of [300, 900])
    await compare(
      `${name}: a window of ${maxMessages} messages`,
      sessions.map((session) => () => getPromptWindow(session, { maxMessages })),
    );
  await compare(
    `${name}: a turn of 8 entries, adopted`,
    sessions.map((session) => () => turn(session)),
  );
}

async function sqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "reeve-bench-"));
  const path = join(folder, "store.db");
  const store = await sqliteStore({ path });
  const file = new DatabaseSync(path);
  for (const length of lengths) {
    const series = `(with recursive s(n) as (select 1 union all select n + 1 from s where n < ${length}) select n from s)`;
    file.exec(`begin; ${chain(length, series)}; commit`);
  }
  file.close();
  await measure("sqlite", store);
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
}

async function postgres(): Promise<void> {
  const server = await postgresServer({ fsync: "on" });
  try {
    const url = await server.database();
    const store = await postgresStore({ connectionString: url });
    for (const length of lengths) await server.query(chain(length, `generate_series(1, ${length}) n`), url);
    await server.query("analyze", url);
    await measure("postgres", store);
    await store[Symbol.asyncDispose]();
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

await sqlite();
await postgres();
