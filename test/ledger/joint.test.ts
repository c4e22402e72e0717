import { expect, test } from "vitest";
import { SharedReservation, Ledger, type ReservationRequest } from "#ledger";

const ask: ReservationRequest = {
  inputTokens: 100,
  outputTokens: 400,
  minOutputTokens: 16,
  price: { input: 1_000_000, output: 2_000_000 },
  unpriced: "refuse",
  landing: false,
};
const wide = Ledger.account({ maxTokens: 1_000, maxTurns: 2 });
const narrow = Ledger.account({ maxCostUsd: 0.0005 });

test("a call returns the limit of its narrowest account, and is booked on each of them", () => {
  const { decision, accounts } = SharedReservation.begin([narrow, wide], ask);
  expect(decision).toEqual({
    kind: "fits",
    outputTokens: 200,
    ceiling: { tokens: 300, costMicros: 500 },
    shrunk: "cost",
  });
  expect(accounts.map(({ reserved, turns }) => [reserved.costMicros, turns])).toEqual([
    [500, 1],
    [500, 1],
  ]);
});

test("one account that refuses leaves all of them as they were", () => {
  const full = Ledger.account({ maxTokens: 115 });
  const { decision, accounts } = SharedReservation.begin([wide, full], ask);
  expect(decision).toMatchObject({ kind: "denied", dimension: "tokens", limit: 115, used: 0 });
  expect(accounts).toEqual([wide, full]);
});

test("nothing is reserved for landing: a limit is used completely", () => {
  const exact = Ledger.account({ maxTokens: 500, maxTurns: 1 });
  expect(SharedReservation.begin([exact], ask).decision).toMatchObject({
    kind: "fits",
    outputTokens: 400,
    shrunk: null,
  });
});

test("figures that cannot be true leave a call in doubt, until it is reconciled", () => {
  const begun = SharedReservation.begin([wide], ask);
  const call = { ceiling: { tokens: 500, costMicros: 900 }, price: ask.price };
  const lost = SharedReservation.settle(begun.accounts, call, { input: 1e9, output: 1 });
  expect(lost.decision).toEqual({ tokens: 500, costMicros: 900, inDoubt: true });
  const cleared = SharedReservation.reconcile(lost.accounts, call, { input: 90, output: 10 });
  expect(cleared.accounts[0]).toMatchObject({
    settled: { tokens: 100, costMicros: 110 },
    inDoubt: { tokens: 0 },
  });
  expect(SharedReservation.reconcile(lost.accounts, call, { input: -1, output: 0 }).decision).toBeNull();
});

test("each account is warned once, at 80 % of its own limit", () => {
  const first = SharedReservation.begin([narrow, wide], ask);
  expect(first.warnings).toEqual([[{ dimension: "cost", limit: 500, used: 500 }], []]);
  const real = { input: 100, output: 200 };
  const { ceiling } = { ceiling: { tokens: 300, costMicros: 500 } };
  expect(SharedReservation.settle(first.accounts, { ceiling, price: ask.price }, real).warnings).toEqual([
    [],
    [],
  ]);
});
