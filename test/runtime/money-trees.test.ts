import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { Runtime, type RunHandle } from "#runtime";
import { isFull } from "../effort.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";
import {
  describeUse,
  medianUse,
  planTree,
  runTrees,
  spendingAgent,
  startTree,
  type TreeShape,
} from "./money-trees.ts";

const trees = isFull ? 200 : 60;

async function spend(count: number, shape: Omit<TreeShape, "seed">, name: string) {
  const spending = spendingAgent();
  await using runtime = new Runtime({ agents: [spending.agent], engine: local() });
  const plans = Array.from({ length: count }, (_, seed) => planTree({ ...shape, seed }));
  return await runTrees(runtime, spending, plans, name);
}

test(`3.10 none of ${trees} random trees with a true cost of at most 55 % of the cap is stopped by its budget`, async () => {
  const spent = await spend(trees, { cost: [0.2, 0.55], ceiling: [0.02, 0.3] }, "below");
  expect(spent.filter(({ stopped, result }) => stopped > 0 || result.status !== "completed")).toEqual([]);
});

test(`3.10 ${trees} random trees with a true cost above the cap never exceed it, and half of them use at least 75 %`, async () => {
  const spent = await spend(trees, { cost: [1.1, 1.8], ceiling: [0.02, 0.3] }, "above");
  process.stdout.write(`ceilings of 2 to 30 %: ${describeUse(spent)}\n`);
  expect(Math.max(...spent.map(({ use }) => use))).toBeLessThanOrEqual(1);
  expect(medianUse(spent)).toBeGreaterThanOrEqual(0.75);
});

test("3.10 every wait of random trees with nested calls and cancelled, held and resumed runs ends", async () => {
  const { agent, bills } = spendingAgent({ judged: true });
  await using runtime = new Runtime({ agents: [agent], engine: local() });
  let waits = 0;
  for (let seed = 0; seed < 60; seed += 1) {
    const random = seededRandom(`trouble/${seed}`);
    const plan = planTree({ seed, cost: [0.4, 1.4], ceiling: [0.05, 0.5] });
    const id = `trouble-${seed}`;
    const root = await startTree(runtime, agent, id, plan);
    for await (const { type, runId } of root.events()) {
      if (type === "budget.waiting") waits += 1;
      if (type !== "budget.waiting" && type !== "model.start") continue;
      await disturb(runtime.run(runId), runId === root.runId ? 1 : random()).catch(() => undefined);
    }
    expect((await root.result()).status).toBe("completed");
    expect(bills.get(id)?.total).toBeLessThanOrEqual(100_000);
  }
  expect(waits).toBeGreaterThan(100);
});

/** Cancels a run, or holds it for a moment, or does nothing. */
async function disturb(run: RunHandle, chance: number): Promise<void> {
  if (chance < 0.05) return void (await run.cancel("enough"));
  if (chance > 0.15) return;
  await run.pause();
  await run.resume();
}

test("3.10 trees with ceilings above 30 % of the cap never exceed it, and none is stopped below 55 %", async () => {
  const over = await spend(trees / 2, { cost: [1.1, 3], ceiling: [0.3, 0.9] }, "large");
  process.stdout.write(`ceilings of 30 to 90 %: ${describeUse(over)}\n`);
  expect(Math.max(...over.map(({ use }) => use))).toBeLessThanOrEqual(1);
  const below = await spend(trees / 2, { cost: [0.2, 0.55], ceiling: [0.3, 0.9] }, "large-below");
  expect(below.filter(({ stopped }) => stopped > 0)).toEqual([]);
});
