import { parseArgs } from "node:util";
import { simulate } from "./simulate.ts";

/** `--seed N` replays one seed and prints its history; `--seeds N` tries so many, from `--from`. */
const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

if (values.seed === undefined) await many(Number(values.from), Number(values.seeds));
else await one(Number(values.seed));

async function one(seed: number): Promise<void> {
  const { violation, ...report } = await simulate(seed, { tell: print });
  print(JSON.stringify(report));
  print(violation ?? "all is well");
  process.exitCode = violation === null ? 0 : 1;
}

async function many(from: number, count: number): Promise<void> {
  const began = performance.now();
  const failed: number[] = [];
  const totals = { happened: 0, deaths: 0, runs: 0, calls: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const { violation, ...report } = await simulate(seed);
    for (const name of ["happened", "deaths", "runs", "calls"] as const) totals[name] += report[name];
    if (violation !== null) {
      failed.push(seed);
      print(`seed ${seed}: ${violation}`);
    }
    // Timers and signals of the process get their turn.
    await new Promise(setImmediate);
  }
  const seconds = (performance.now() - began) / 1000;
  print(`${count} seeds in ${seconds.toFixed(1)} s, ${Math.round((count / seconds) * 60)} a minute`);
  print(JSON.stringify(totals));
  print(failed.length === 0 ? "all is well" : `failed: npm run simulate -- --seed ${failed[0]}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
