import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Json } from "reeve";
import { inLanes } from "../engines/restate/scenarios/lanes.ts";
import { treeOf } from "./check/reading.ts";
import type { Client, Played } from "./client.ts";
import type { Disturbance } from "./faults.ts";
import type { History, Loss, RowCount } from "./history.ts";
import type { Stage } from "./stage/stage.ts";
import { readJournal, readStopped } from "./witness/journal.ts";
import type { TraceLine } from "./witness/marked-engine.ts";
import { scan } from "./witness/scan.ts";

/** The remains of a campaign, for its witnesses. */
interface Remains {
  readonly seed: string;
  readonly isMachineBusy: boolean;
  readonly namespace: string;
  /** Folder of the workers' files. */
  readonly folder: string;
  readonly played: readonly Played[];
  readonly disturbances: readonly Disturbance[];
  readonly losses: readonly Loss[];
}

/** Asks every witness about the trees of one campaign. */
export async function collect(stage: Stage, client: Client, remains: Remains): Promise<History> {
  const { double, sink, restate, postgres } = stage;
  const { seed, isMachineBusy, namespace, folder, played, disturbances, losses } = remains;
  const trees = await inLanes(played, 8, (tree) => client.history(tree));
  const ids = new Set(played.map(({ plan }) => plan.id));
  const isOurs = (run: string | null): boolean => run === null || ids.has(treeOf(run));
  const places = { restate: join(stage.folder, "restate"), postgres: postgres.folder, workers: folder };
  const words = new Set([...played.map(({ plan }) => plan.secret), ...sink.words]);
  return {
    seed,
    isMachineBusy,
    trees,
    bill: double.bill.entries.filter(({ run }) => isOurs(run)),
    flight: double.inFlight.timeline.filter(({ run }) => isOurs(run)),
    effects: sink.effects.filter(({ run }) => isOurs(run)),
    journal: await readJournal(restate, namespace),
    traces: await readLines<TraceLine>(folder, ".trace.jsonl"),
    disturbances,
    losses,
    divergences: await divergences(folder),
    stopped: await readStopped(restate, namespace),
    audits: await inLanes([...new Set(played.map(({ plan }) => plan.tenant))], 1, (tenant) =>
      client.audit(tenant),
    ),
    conversations: await inLanes(talksOf(played), 4, ([tenant, session]) =>
      client.conversation(tenant, session),
    ),
    rows: await rowCounts(stage),
    scan: await scan(places, words, played[0]?.plan.id ?? ""),
  };
}

/** Every conversation that has a name, once. */
function talksOf(played: readonly Played[]): readonly (readonly [tenant: string, session: string])[] {
  const named = played.flatMap(({ plan: { tenant, session } }) =>
    session === null ? [] : [[`${tenant} ${session}`, [tenant, session] as const] as const],
  );
  return [...new Map(named).values()];
}

/** Read as superuser: row-level security does not apply. */
async function rowCounts({ postgres, database }: Stage): Promise<readonly RowCount[]> {
  const counts: RowCount[] = [];
  for (const table of ["reeve_run", "reeve_event", "reeve_approval", "reeve_key"]) {
    const text = `select tenant_id, tree_id, count(*)::int as count from ${table} group by 1, 2`;
    for (const row of await postgres.query(text, database)) {
      const { tenant_id: tenant, tree_id: tree, count } = row;
      counts.push({ table, tenant: String(tenant), tree: String(tree), count: Number(count) });
    }
  }
  return counts;
}

/** Returns the logged divergences of runs from their journals. */
async function divergences(folder: string): Promise<readonly string[]> {
  const lines = await readLines<{ readonly error?: { readonly code?: unknown } }>(folder, ".log.jsonl");
  return lines
    .filter(({ error }) => error?.code === "replay-divergence" || error?.code === 570)
    .map((line) => JSON.stringify(line));
}

/** The lines of all files with that ending. A worker that was killed may have left half a line. */
async function readLines<T>(folder: string, ending: string): Promise<readonly T[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ending));
  const lines: T[] = [];
  for (const name of names) {
    for (const line of (await readFile(join(folder, name), "utf8")).split("\n")) {
      try {
        if (line !== "") lines.push(Json.as(JSON.parse(line)));
      } catch {
        continue;
      }
    }
  }
  return lines;
}
