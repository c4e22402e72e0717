import { expect, test } from "vitest";
import { TreeId } from "#kernel";
import { TenantLedger, type TenantState } from "#ledger";
import { deepFreeze } from "./tree.ts";

const [a, b, c] = [TreeId.of("a"), TreeId.of("b"), TreeId.of("c")];
const limits = { maxTokens: 1600, maxCost: 3200 };
const fresh: TenantState = deepFreeze(TenantLedger.limit(null, limits));

test("a draw lends a block of a sixteenth where there is plenty, more where more is asked for", () => {
  const { state, decision } = TenantLedger.draw(fresh, { tree: a, tokens: 10, cost: 500, at: 7 });
  expect(decision).toEqual({ tokens: 100, cost: 500, recall: [] });
  expect(state.lent).toEqual({ [a]: { tokens: 100, cost: 500, idleSince: 7 } });
});

test("a draw never lends more than is free", () => {
  const first = TenantLedger.draw(fresh, { tree: a, tokens: 1550, cost: 0, at: 0 });
  const second = TenantLedger.draw(first.state, { tree: b, tokens: 80, cost: 0, at: 0 });
  expect(second.decision).toEqual({ tokens: 50, cost: 200, recall: [] });
  const third = TenantLedger.draw(second.state, { tree: c, tokens: 1, cost: 0, at: 0 });
  expect(third.decision).toMatchObject({ tokens: 0, cost: 200 });
});

test("a draw that falls short names the other trees that have been idle for 30 s", () => {
  const first = TenantLedger.draw(fresh, { tree: a, tokens: 800, cost: 0, at: 0 });
  const second = TenantLedger.draw(first.state, { tree: b, tokens: 800, cost: 0, at: 1 });
  const third = (at: number) => TenantLedger.draw(second.state, { tree: c, tokens: 1, cost: 0, at });
  expect(third(29_999).decision.recall).toEqual([]);
  expect(third(30_000).decision.recall).toEqual([a]);
  expect(third(30_001).decision.recall).toEqual([a, b]);
});

test("what is given back can be lent again, what is spent cannot", () => {
  const { state } = TenantLedger.draw(fresh, { tree: a, tokens: 1600, cost: 3200, at: 0 });
  const returned = { tree: a, tokens: 1000, cost: 3000, spentTokens: 0, spentCost: 0, at: 5 };
  const partly = TenantLedger.giveBack(state, returned).state;
  expect(partly.lent[a]).toEqual({ tokens: 600, cost: 200, idleSince: 5 });
  const rest = { tree: a, tokens: 500, cost: 100, spentTokens: 100, spentCost: 100, at: 6 };
  const over = TenantLedger.giveBack(partly, rest).state;
  expect(over).toMatchObject({ lent: {}, spent: { tokens: 100, cost: 100 } });
  expect(TenantLedger.draw(over, { tree: b, tokens: 9999, cost: 9999, at: 7 }).decision).toMatchObject({
    tokens: 1500,
    cost: 3100,
  });
});

test("a loan lasts until both its tokens and its money are back", () => {
  const { state } = TenantLedger.draw(fresh, { tree: a, tokens: 100, cost: 200, at: 0 });
  const command = { tree: a, tokens: 100, cost: 0, spentTokens: 0, spentCost: 0, at: 1 };
  expect(TenantLedger.giveBack(state, command).state.lent[a]).toMatchObject({ tokens: 0, cost: 200 });
});

test("more spent than was lent is free for nobody", () => {
  const { state } = TenantLedger.draw(fresh, { tree: a, tokens: 100, cost: 200, at: 0 });
  const over = { tree: a, tokens: 0, cost: 0, spentTokens: 1500, spentCost: 100, at: 1 };
  const { state: after } = TenantLedger.giveBack(state, over);
  expect(TenantLedger.draw(after, { tree: b, tokens: 999, cost: 0, at: 2 }).decision.tokens).toBe(100);
});

test("a dimension without a limit gives what is asked for", () => {
  const open = TenantLedger.limit(null, { maxTokens: null, maxCost: 16 });
  expect(TenantLedger.draw(open, { tree: a, tokens: 10, cost: 0, at: 0 }).decision).toMatchObject({
    tokens: 10,
    cost: 1,
  });
});

test("a changed limit keeps what was lent and spent", () => {
  const { state } = TenantLedger.draw(fresh, { tree: a, tokens: 100, cost: 0, at: 0 });
  const lowered = TenantLedger.limit(state, { maxTokens: 50, maxCost: null });
  expect(lowered.lent).toBe(state.lent);
  expect(TenantLedger.draw(lowered, { tree: b, tokens: 1, cost: 0, at: 0 }).decision.tokens).toBe(0);
});
