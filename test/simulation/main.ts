import { parseArgs } from "node:util";
import { campaign, summary } from "./campaign.ts";
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

if (values.seed === undefined) await playMany(Number(values.from), Number(values.seeds));
else await one(Number(values.seed));

async function one(seed: number): Promise<void> {
  const { violation, ...report } = await simulate(seed, { tell: print });
  print(JSON.stringify(report));
  print(violation ?? "all is well");
  process.exitCode = violation === null ? 0 : 1;
}

async function playMany(from: number, count: number): Promise<void> {
  const played = await campaign({ from, count });
  for (const [seed, violation] of played.violations) print(`seed ${seed}: ${violation}`);
  print(summary(played, { from, count }));
  const [failed] = played.violations.keys();
  print(failed === undefined ? "all is well" : `failed: npm run simulate -- --seed ${failed}`);
  process.exitCode = failed === undefined ? 0 : 1;
}
