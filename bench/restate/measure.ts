import { readFileSync } from "node:fs";

const msPerTick = 10;

/** Processor time that a process has used so far, in milliseconds. Linux only. */
export function cpuMs(pid: number | "self"): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

/** The result of one load. */
export interface Load {
  readonly stepsPerSecond: number;
  /** Processor time of a step in this process, in milliseconds. */
  readonly worker: number;
  /** And in the server. */
  readonly server: number;
}

/** Keeps `lanes` runs going for at least `forMs`, each counted when it has ended. */
async function load(options: {
  readonly lanes: number;
  readonly forMs: number;
  readonly stepsPerRun: number;
  readonly serverPid: number;
  readonly run: () => Promise<unknown>;
}): Promise<Load> {
  const { lanes, forMs, stepsPerRun, serverPid, run } = options;
  const before = { at: performance.now(), worker: cpuMs("self"), server: cpuMs(serverPid) };
  let runs = 0;
  const lane = async (): Promise<void> => {
    do {
      await run();
      runs += 1;
    } while (performance.now() - before.at < forMs);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const steps = runs * stepsPerRun;
  return {
    stepsPerSecond: (steps * 1000) / (performance.now() - before.at),
    worker: (cpuMs("self") - before.worker) / steps,
    server: (cpuMs(serverPid) - before.server) / steps,
  };
}

/** The middle one. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** The smallest value that so many per cent of all do not exceed. */
export function atPercent(values: readonly number[], percent: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1] ?? NaN;
}

/** The median of each figure. */
function medianLoad(loads: readonly Load[]): Load {
  return {
    stepsPerSecond: median(loads.map(({ stepsPerSecond }) => stepsPerSecond)),
    worker: median(loads.map(({ worker }) => worker)),
    server: median(loads.map(({ server }) => server)),
  };
}

/** Prints rows in columns. */
export function print(...rows: readonly (readonly (string | number)[])[]): void {
  for (const row of rows) {
    const cells = row.map((cell) => (typeof cell === "number" ? cell.toFixed(cell < 10 ? 2 : 0) : cell));
    process.stdout.write(`${cells.map((cell, at) => cell.padEnd(at === 0 ? 26 : 12)).join(" ")}\n`);
  }
}

/** Loads every variant at every width in turn, as often as there are rounds; the first one warms up. */
export async function measureAll(options: {
  readonly widths: readonly number[];
  readonly rounds: number;
  readonly forMs: number;
  readonly stepsPerRun: number;
  readonly serverPid: number;
  readonly variants: Readonly<Record<string, () => Promise<unknown>>>;
}): Promise<(variant: string, lanes: number) => Load> {
  const { widths, rounds, variants, ...rest } = options;
  const loads = new Map<string, Load[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const lanes of widths) {
      for (const [name, run] of Object.entries(variants)) {
        const cell = `${name} × ${lanes}`;
        const measured = await load({ ...rest, lanes, run });
        if (round > 0) loads.set(cell, [...(loads.get(cell) ?? []), measured]);
      }
    }
  }
  return (variant, lanes) => medianLoad(loads.get(`${variant} × ${lanes}`) ?? []);
}

/** Prints our figures below those of the comparison. */
export function printPair(
  twin: string,
  ours: string,
  lanes: number,
  of: (variant: string, lanes: number) => Load,
): void {
  const [base, own] = [of(twin, lanes), of(ours, lanes)];
  const cpu = (own.worker + own.server) / (base.worker + base.server);
  const speed = own.stepsPerSecond / base.stepsPerSecond;
  print(
    [`${twin} × ${lanes}`, base.stepsPerSecond, "", base.worker, base.server],
    [`${ours} × ${lanes}`, own.stepsPerSecond, speed, own.worker, own.server, cpu],
  );
}
