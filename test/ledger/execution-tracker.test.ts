import { expect, test } from "vitest";
import { BudgetExhaustedError } from "#kernel";
import { ExecutionTracker } from "#ledger";

const all = { maxTokens: 100, maxCostUsd: 1, maxTurns: 2 };

function caught(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return null;
}

test("exactly at the cap is fine, one over is not, in the order tokens, cost, turns", () => {
  const tab = new ExecutionTracker(all);
  tab.consume({ tokens: 100, costUsd: 1, turns: 2 });
  tab.consume({});
  expect(caught(() => tab.consume({ turns: 1 }))).toMatchObject({ dimension: "turns", limit: 2, used: 3 });
  expect(caught(() => tab.consume({ costUsd: 0.5 }))).toMatchObject({ dimension: "cost", used: 1_500_000 });
  expect(caught(() => tab.consume({ tokens: 1 }))).toMatchObject({
    dimension: "tokens",
    limit: 100,
    used: 101,
  });
});

test("three tenths of a dollar are not over thirty cents", () => {
  const tab = new ExecutionTracker({ maxCostUsd: 0.3 });
  tab.consume({ costUsd: 0.1 + 0.2 });
  expect(() => tab.consume({ costUsd: 0.000_001 })).toThrow(BudgetExhaustedError);
});

test("an absent limit is none, and nothing is kept for landing", () => {
  expect(() => new ExecutionTracker().consume({ tokens: 1e9, costUsd: 1e6, turns: 1e6 })).not.toThrow();
  expect(() => new ExecutionTracker({ maxTurns: 2 }).consume({ turns: 2 })).not.toThrow();
});

test("a reservation that does not fit books nothing", () => {
  const tab = new ExecutionTracker(all);
  tab.reserve({ tokens: 60, turns: 1 });
  expect(caught(() => tab.reserve({ tokens: 41 }))).toMatchObject({
    dimension: "tokens",
    limit: 100,
    used: 60,
  });
  expect(() => tab.reserve({ tokens: 40, turns: 1 })).not.toThrow();
});

test("a settlement books the actual usage instead, once", () => {
  const tab = new ExecutionTracker(all);
  const call = tab.reserve({ tokens: 100, turns: 1 });
  tab.settle(call, { tokens: 30 });
  tab.settle(call, { tokens: 30 });
  expect(() => tab.reserve({ tokens: 70 })).not.toThrow();
  expect(() => tab.reserve({ tokens: 1 })).toThrow(BudgetExhaustedError);
});

test("figures that cannot be are never a credit", () => {
  const tab = new ExecutionTracker(all);
  const call = tab.reserve({ tokens: 100 });
  tab.settle(call, { tokens: Number.NaN });
  expect(() => tab.reserve({ tokens: 1 })).toThrow(BudgetExhaustedError);
  expect(() => tab.consume({ tokens: -50 })).toThrow(RangeError);
});
