import { expect, test } from "vitest";
import { plantedBugs } from "./planted-bugs.ts";
import { simulate } from "./simulate.ts";

const seeds = 1_500;
/** A bug that needs more than this to show could live for years. */
const mostSeedsForABug = 200;

test("nothing that must not be happens, whatever the load, the order and the mishaps", async () => {
  const began = performance.now();
  const totals = { happened: 0, deaths: 0, runs: 0, calls: 0 };
  const found: string[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const { violation, ...report } = await simulate(seed);
    for (const name of ["happened", "deaths", "runs", "calls"] as const) totals[name] += report[name];
    if (violation !== null) found.push(`npm run simulate -- --seed ${seed}: ${violation}`);
  }
  const perMinute = Math.round((seeds / (performance.now() - began)) * 60_000);
  process.stdout.write(`simulation: ${seeds} seeds, ${perMinute} a minute, ${JSON.stringify(totals)}\n`);
  expect(found).toEqual([]);
}, 180_000);

test("a seed is replayed exactly", async () => {
  const histories = await Promise.all(
    [1, 2].map(async () => {
      const lines: string[] = [];
      await simulate(385, { tell: (line) => lines.push(line) });
      return lines;
    }),
  );
  expect(histories[0]).toEqual(histories[1]);
});

test.each(Object.entries(plantedBugs))("planted: %s", async (name, mutation) => {
  for (let seed = 1; seed <= mostSeedsForABug; seed++) {
    const { violation } = await simulate(seed, { mutation });
    if (violation === null) continue;
    process.stdout.write(`planted: ${name}: caught after ${seed} seeds (${violation.slice(0, 80)})\n`);
    return;
  }
  expect.fail(`not caught in ${mostSeedsForABug} seeds`);
});
