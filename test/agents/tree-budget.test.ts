import { expect, test } from "vitest";
import { runCappedTree } from "./tree-budget.ts";

const seeds = Array.from({ length: Number(process.env["REEVE_BUDGET_SEEDS"] ?? 5) }, (_, seed) => seed);
const caps = [
  ["20,000 tokens", { maxTokens: 20_000 }, 20_000],
  ["ten cents", { maxCostUsd: 0.1 }, 100_000],
] as const;

test.each(caps)(
  "a parent and twenty parallel children use %s without exceeding it, by the provider's own bill, and answer",
  async (_, budget, cap) => {
    for (const seed of seeds) {
      const { result, bill, answered } = await runCappedTree(seed, budget);
      expect(bill, `seed ${seed}`).toBeLessThanOrEqual(cap);
      expect(bill, `seed ${seed}`).toBeGreaterThanOrEqual(0.6 * cap);
      expect(answered, `seed ${seed}`).toBeGreaterThanOrEqual(5);
      expect(["landed", "completed"], `seed ${seed}`).toContain(result.status);
      expect(result.output, `seed ${seed}`).not.toBeNull();
    }
  },
);
