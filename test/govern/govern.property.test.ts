import * as fc from "fast-check";
import { Money } from "#kernel";
import { expect, test } from "vitest";
import { MeteredModel, programs, type Shadow } from "./call-tree.ts";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(1000);

/** Returns all amounts of an account, in flight or not. */
function totalOf({ account: { spend } }: Shadow) {
  const { settled, reserved, inDoubt } = spend;
  return {
    tokens: settled.tokens + reserved.tokens + inDoubt.tokens,
    cost: settled.costMicros + reserved.costMicros + inDoubt.costMicros,
  };
}

function everyAccount(shadow: Shadow): readonly Shadow[] {
  return [shadow, ...shadow.below.flatMap(everyAccount)];
}

test("no call tree is billed more than any of its accounts allows, at any instant, whatever goes wrong", async () => {
  const seen = { billed: 0, refused: 0, exact: 0 };
  const keepsItsLimits = fc.asyncProperty(programs, fc.scheduler(), async (program, scheduler) => {
    const model = new MeteredModel(scheduler);
    const root = await scheduler.waitFor(model.run(program));
    expect(model.over).toEqual([]);
    for (const shadow of everyAccount(root)) {
      const { tokens, cost } = totalOf(shadow);
      const { maxTokens = Infinity, maxCostUsd = Infinity } = shadow.account.budget;
      // Nothing remains reserved and, if there is a limit, nothing is booked below its cost.
      expect(shadow.account.spend.reserved).toEqual({ tokens: 0, costMicros: 0 });
      const isLimited = Math.min(maxTokens, maxCostUsd) < Infinity;
      expect(tokens).toBeGreaterThanOrEqual(isLimited ? shadow.tokens : 0);
      expect(cost).toBeGreaterThanOrEqual(isLimited ? shadow.cost : 0);
      expect(tokens).toBeLessThanOrEqual(maxTokens);
      expect(cost).toBeLessThanOrEqual(Money.cap(maxCostUsd));
      // The events add up, and what an account below has booked, this one has booked just so.
      expect(tokens).toBe([...shadow.booked.values()].reduce((sum, each) => sum + each, 0));
      const below = shadow.below.flatMap(({ booked }) => [...booked]);
      expect(below).toEqual(below.map(([attempt]) => [attempt, shadow.booked.get(attempt)]));
      if (tokens === maxTokens) seen.exact += 1;
    }
    seen.billed += model.billed;
    seen.refused += model.refused;
  });
  await fc.assert(keepsItsLimits, { numRuns });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
