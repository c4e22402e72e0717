import * as fc from "fast-check";
import { Money } from "reeve";
import { expect, test } from "vitest";
import { MeteredModel, programs, type Shadow } from "./call-tree.ts";

const numRuns = Number(process.env["REEVE_PROPERTY_RUNS"] ?? 1000);

/** Everything a scope holds, in flight or not. */
function held({ account: { spend } }: Shadow) {
  const { settled, reserved, inDoubt } = spend;
  return {
    tokens: settled.tokens + reserved.tokens + inDoubt.tokens,
    cost: settled.cost + reserved.cost + inDoubt.cost,
  };
}

function everyScope(shadow: Shadow): readonly Shadow[] {
  return [shadow, ...shadow.below.flatMap(everyScope)];
}

test(
  "no call tree is billed more than any of its scopes allows, at any instant, whatever goes wrong",
  { timeout: 600_000 },
  async () => {
    const seen = { billed: 0, refused: 0, exact: 0 };
    const keepsItsLimits = fc.asyncProperty(programs, fc.scheduler(), async (program, scheduler) => {
      const model = new MeteredModel(scheduler);
      const root = await scheduler.waitFor(model.run(program));
      expect(model.over).toEqual([]);
      for (const scope of everyScope(root)) {
        const { tokens, cost } = held(scope);
        const { maxTokens = Infinity, maxCostUsd = Infinity } = scope.account.budget;
        // Nothing stays reserved, nothing is booked for less than it cost, and nothing over the limit.
        expect(scope.account.spend.reserved).toEqual({ tokens: 0, cost: 0 });
        expect(tokens).toBeGreaterThanOrEqual(scope.tokens);
        expect(cost).toBeGreaterThanOrEqual(scope.cost);
        expect(tokens).toBeLessThanOrEqual(maxTokens);
        expect(cost).toBeLessThanOrEqual(Money.cap(maxCostUsd));
        // What the scopes below hold, this one holds too.
        const below = scope.below.reduce((sum, inner) => sum + held(inner).tokens, 0);
        expect(tokens - below).toBeGreaterThanOrEqual(scope.ownCalls.tokens);
        if (tokens === maxTokens) seen.exact += 1;
      }
      seen.billed += model.billed;
      seen.refused += model.refused;
    });
    await fc.assert(keepsItsLimits, { numRuns });
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  },
);
