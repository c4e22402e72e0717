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

test("usage exactly at the cap is allowed and one over is not, checked in the order tokens, cost, turns", () => {
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

test("a spend of 0.1 + 0.2 dollars does not exceed a cap of 0.3 dollars", () => {
  const tab = new ExecutionTracker({ maxCostUsd: 0.3 });
  tab.consume({ costUsd: 0.1 + 0.2 });
  expect(() => tab.consume({ costUsd: 0.000_001 })).toThrow(BudgetExhaustedError);
});

test("without a limit nothing is refused, and nothing is kept for landing", () => {
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

test("impossible usage figures never reduce the spend", () => {
  const tab = new ExecutionTracker(all);
  const call = tab.reserve({ tokens: 100 });
  tab.settle(call, { tokens: Number.NaN });
  expect(() => tab.reserve({ tokens: 1 })).toThrow(BudgetExhaustedError);
  expect(() => tab.consume({ tokens: -50 })).toThrow(RangeError);
});
