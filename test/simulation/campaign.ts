import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Json } from "#kernel";
import { systemClock, withTimeout } from "#base";
import type { Report } from "./simulate.ts";

/** Seeds that follow each other. */
export interface Seeds {
  readonly from: number;
  readonly count: number;
}

/** The result of many seeds. */
export interface Campaign {
  readonly seconds: number;
  readonly totals: Totals;
  /** By seed, in ascending order. */
  readonly violations: ReadonlyMap<number, string>;
}

type Totals = Readonly<Record<(typeof counted)[number], number>>;

const counted = ["happened", "deaths", "runs", "calls", "waits"] as const;
/** Seeds per batch: a process with larger trees gets fewer. */
const handful = 50;
/** A batch takes seconds. After this long, one of its seeds loops for ever and blocks its process. */
const limitMs = 60_000;

/** Plays seeds in as many processes as there are cores. The result depends on the seed alone, not on the process. */
export async function campaign({ from, count }: Seeds): Promise<Campaign> {
  const began = performance.now();
  const players = Math.min(availableParallelism(), Math.ceil(count / handful));
  const rest = { from, until: from + count };
  const reports = await Promise.all(Array.from({ length: players }, () => playInProcess(player(), rest)));
  const failed = reports.flat().filter(({ violation }) => violation !== null);
  return {
    seconds: (performance.now() - began) / 1000,
    totals: totalsOf(reports.flat()),
    violations: new Map(
      failed
        .toSorted((one, other) => one.seed - other.seed)
        .map(({ seed, violation }) => [seed, violation ?? ""]),
    ),
  };
}

/** Describes a campaign in one line. */
export function summary({ seconds, totals }: Campaign, { count }: Seeds): string {
  const perMinute = Math.round((count / seconds) * 60);
  return `${count} seeds in ${seconds.toFixed(1)} s, ${perMinute} a minute, ${JSON.stringify(totals)}`;
}

/** Plays batches of seeds in one process until none are left or one hangs. */
async function playInProcess(
  child: ChildProcess,
  rest: { from: number; readonly until: number },
): Promise<Report[]> {
  const reports: Report[] = [];
  const died = once(child, "exit").then(([code, signal]): never => {
    throw new Error(`a process that plays seeds ended with ${code ?? signal}`);
  });
  try {
    while (rest.from < rest.until) {
      const seeds: Seeds = { from: rest.from, count: Math.min(handful, rest.until - rest.from) };
      rest.from += seeds.count;
      child.send(seeds);
      const played = await Promise.race([nextReports(child), died]);
      reports.push(...(played ?? [endless(seeds)]));
      if (!played) break;
    }
    return reports;
  } catch (error) {
    // After a failure the others need not continue.
    rest.from = rest.until;
    throw error;
  } finally {
    child.kill("SIGKILL");
  }
}

/** Waits for the next reports of a process. Null after a timeout. */
function nextReports(child: ChildProcess): Promise<readonly Report[] | null> {
  const limit = { clock: systemClock, ms: limitMs, onTimeout: () => null };
  return withTimeout<readonly Report[] | null>(limit, async ({ signal }) => {
    const [reports] = await once(child, "message", { signal });
    return Json.as(reports);
  });
}

/** The report of a batch that hangs. */
const endless = ({ from, count }: Seeds): Report => {
  const nothing = { happened: 0, deaths: 0, runs: 0, calls: 0, waits: 0 };
  return { seed: from, violation: `one of the seeds ${from} to ${from + count - 1} never ends`, ...nothing };
};

const player = (): ChildProcess =>
  fork(join(import.meta.dirname, "fixtures/player.ts"), {
    // A world is garbage after a few milliseconds.
    execArgv: ["--conditions=reeve-source", "--max-semi-space-size=32"],
  });

/** All of it together. */
export function totalsOf(reports: readonly Report[]): Totals {
  const totals = { happened: 0, deaths: 0, runs: 0, calls: 0, waits: 0 };
  for (const report of reports) for (const name of counted) totals[name] += report[name];
  return totals;
}
