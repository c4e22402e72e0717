import { Ledger, type ReservationRequest } from "#ledger";
import type { Price } from "#kernel";
import { expect, test } from "vitest";
import { attempt, root, step, Tree } from "./tree.ts";

/** Asks the gate for 100 tokens in, and 100 out or fewer, under a cap of 1,000 micro-dollars. */
function begin(price: Price, more: Partial<ReservationRequest> = {}) {
  const { state } = new Tree({ treeBudget: { maxCostUsd: 0.001 } });
  const ask: ReservationRequest = {
    inputTokens: 100,
    outputTokens: 100,
    minOutputTokens: 1,
    price,
    unpriced: "refuse",
    landing: true,
    ...more,
  };
  const from = { run: root, step: step(1), attempt: attempt("a"), epoch: { id: "1", order: null } };
  return Ledger.begin(state, { ...from, ask, rerun: false, leaseIsFinal: false, at: 1 }).decision;
}

const flat: Price = { input: 1_000_000, output: 1_000_000 };

test.for<Price>([
  { ...flat, cachedInput: Number.NaN },
  { ...flat, cacheWrite: -1 },
  { ...flat, request: 0.5 },
  { ...flat, tiers: [{ aboveInputTokens: -1, input: 1, output: 1 }] },
])("an invalid price is refused: %j", (price) => {
  expect(() => begin(price)).toThrow(RangeError);
});

test("the ceiling uses the highest rates that can apply, and the output shrinks by them", () => {
  expect(begin(flat)).toMatchObject({ outputTokens: 100, ceiling: { costMicros: 200 } });
  expect(begin({ ...flat, cacheWrite: 2_000_000 })).toMatchObject({ ceiling: { costMicros: 300 } });
  expect(begin({ ...flat, request: 7 })).toMatchObject({ ceiling: { costMicros: 207 } });
  const tier = { aboveInputTokens: 99, input: 3_000_000, output: 50_000_000 };
  expect(begin({ ...flat, tiers: [tier] })).toMatchObject({
    outputTokens: 14,
    ceiling: { costMicros: 300 + 14 * 50 },
  });
  expect(begin({ ...flat, tiers: [{ ...tier, aboveInputTokens: 100 }] })).toMatchObject({
    outputTokens: 100,
  });
  expect(begin({ ...flat, request: 901 })).toMatchObject({ kind: "denied", dimension: "cost" });
});
