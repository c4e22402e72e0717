import { expect, test } from "vitest";
import { campaign, summary, totalsOf } from "./campaign.ts";
import { plantedBugs } from "./planted-bugs.ts";
import { simulate } from "./simulate.ts";
import { firstSeedThatShows, sourceBugs } from "./source-bugs.ts";
import { isFull, sample } from "../effort.ts";

/** A few: `npm run simulate` plays as many as one likes, `.ci/run` 1,500 and `.ci/full` 20,000. */
const seeds = { from: 1, count: isFull ? 500 : 50 };
/** A bug that needs more than this to show could live for years. */
const mostSeedsForABug = 400;

test("no invariant is violated under random load, order and faults", async () => {
  const played = await campaign(seeds);
  process.stdout.write(`simulation: ${summary(played, seeds)}\n`);
  expect([...played.violations]).toEqual([]);
  // Calls have waited for money, some of them inside the step of another call, and every wait has ended.
  expect(played.totals.waits).toBeGreaterThan(seeds.count / 10);
});

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

test("a seed gives the same result alone and among others in another process", async () => {
  const together = await campaign({ from: 380, count: 6 });
  const alone = await Promise.all([380, 381, 382, 383, 384, 385].map((seed) => simulate(seed)));
  expect(together.totals).toEqual(totalsOf(alone));
});

test.each(sample(Object.entries(plantedBugs), 0.3, ([name]) => name))(
  "the simulation detects the planted bug: %s",
  async (name, mutation) => {
    for (let seed = 1; seed <= mostSeedsForABug; seed++) {
      const { violation } = await simulate(seed, { mutation });
      if (violation === null) continue;
      process.stdout.write(`planted: ${name}: caught after ${seed} seeds (${violation.slice(0, 80)})\n`);
      return;
    }
    expect.fail(`not caught in ${mostSeedsForABug} seeds`);
  },
);

test.each(
  sample(
    sourceBugs.map(({ what }) => what),
    0.3,
  ),
)("the simulation detects the bug planted into the source: %s", async (what) => {
  const shown = await firstSeedThatShows(what, mostSeedsForABug);
  expect(shown, `not caught in ${mostSeedsForABug} seeds`).not.toBeNull();
  process.stdout.write(
    `planted: ${what}: caught after ${shown?.seed} seeds (${shown?.violation?.slice(0, 80)})\n`,
  );
});
