import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Ledger } from "#ledger";
import { Usage } from "#kernel";
import { attempt, Tree } from "../ledger/tree.ts";

const hostile = fc.oneof(
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -1, -0, 0.5, 2 ** 53, 2 ** 60, 1e300, -1e300),
  fc.double(),
  fc.integer({ min: -100, max: 100 }),
);
const report = fc.record(
  { input: hostile, output: hostile, cachedInput: hostile, cacheWrite: hostile },
  { requiredKeys: ["input", "output"] },
);

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

test("whatever a provider reports, money is a whole number, and a report that cannot be true is booked at its ceiling", () => {
  let inDoubt = 0;
  fc.assert(
    fc.property(fc.array(report, { minLength: 1, maxLength: 6 }), (reports) => {
      const tree = new Tree({ treeBudget: { maxTokens: 1_000_000 } });
      let before = Ledger.spend(tree.state.tree.account);
      for (const [index, usage] of reports.entries()) {
        tree.begin("root", { attempt: attempt(`${index}`) });
        const settled = tree.settle("root", `${index}`, usage) ?? { tokens: -1, costMicros: -1 };
        const after = Ledger.spend(tree.state.tree.account);
        for (const { tokens, costMicros } of [settled, after]) {
          expect(isCount(tokens)).toBe(true);
          expect(isCount(costMicros)).toBe(true);
        }
        // No report gives anything back of what other calls have used.
        expect(after.tokens).toBe(before.tokens + settled.tokens);
        expect(after.costMicros).toBe(before.costMicros + settled.costMicros);
        const isBelieved = Usage.isSane(usage);
        inDoubt += isBelieved ? 0 : 1;
        expect(settled).toEqual(isBelieved ? settled : { tokens: 20, costMicros: 30, inDoubt: true });
        before = after;
      }
    }),
    { numRuns: 2_000 },
  );
  expect(inDoubt).toBeGreaterThan(1_000);
});
