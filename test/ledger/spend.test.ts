import { expect, test } from "vitest";
import { Ledger } from "#ledger";
import { attempt, price, run, step, Tree } from "./tree.ts";

test("3.1 an absent limit is unlimited, and 0 allows nothing", () => {
  expect(new Tree().begin("root", { ask: { inputTokens: 1e9, outputTokens: 1e9 } })).toMatchObject({
    kind: "granted",
  });
  const denial = { kind: "denied", limit: 0, used: 0, reason: "exhausted" };
  expect(new Tree({ treeBudget: { maxTokens: 0 } }).begin("root")).toMatchObject({
    ...denial,
    dimension: "tokens",
  });
  expect(new Tree({ rootBudget: { maxCostUsd: 0 } }).begin("root")).toMatchObject({
    ...denial,
    dimension: "cost",
  });
  expect(new Tree({ rootBudget: { maxTurns: 0 } }).begin("root")).toMatchObject({
    ...denial,
    dimension: "turns",
  });
});

test("3.2 usage exactly at the cap is allowed, one over is not", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 20 } });
  const ask = { inputTokens: 10, outputTokens: 8, minOutputTokens: 8 };
  expect(tree.begin("root", { ask: { ...ask, inputTokens: 11 } })).toMatchObject({ dimension: "tokens" });
  expect(tree.begin("root", { ask })).toMatchObject({ kind: "granted", shrunk: null });
  expect(tree.begin("root", { ask: { ...ask, inputTokens: 1, outputTokens: 0 } })).toMatchObject({
    kind: "denied",
    dimension: "tokens",
    limit: 20,
    used: 18,
    reason: "exhausted",
  });
});

test("3.2 limits are checked in the order tokens, cost, turns", () => {
  const none = { maxTokens: 0, maxCostUsd: 0, maxTurns: 0 };
  const { maxTokens: _tokens, ...costAndTurns } = none;
  expect(new Tree({ rootBudget: none }).begin("root")).toMatchObject({ dimension: "tokens" });
  expect(new Tree({ rootBudget: costAndTurns }).begin("root")).toMatchObject({ dimension: "cost" });
  // The tokens of a distant account come before the money of the run's own.
  const tree = new Tree({ treeBudget: { maxTokens: 0 }, rootBudget: { maxCostUsd: 0 } });
  expect(tree.begin("root")).toMatchObject({ dimension: "tokens" });
});

test("3.3 a reservation touches every level of the account path", () => {
  const tree = new Tree();
  tree.admit("a", { budget: { maxTokens: 1000 } });
  tree.admit("b", { parent: run("a") });
  tree.begin("b");
  const ceiling = { tokens: 20, costMicros: 30 };
  for (const account of [
    tree.account("b"),
    tree.account("a"),
    tree.account("root"),
    tree.state.tree.account,
  ]) {
    expect(account.reserved).toEqual(ceiling);
  }
});

test("3.3 a run's limits cover its whole subtree; a child without its own draws on its parent", () => {
  const tree = new Tree();
  tree.admit("a", { budget: { maxTokens: 50 } });
  tree.admit("b", { parent: run("a") });
  expect(tree.begin("b")).toMatchObject({ kind: "granted" });
  expect(tree.begin("a")).toMatchObject({ kind: "granted" });
  expect(tree.begin("b")).toMatchObject({
    kind: "denied",
    dimension: "tokens",
    limit: 50,
    used: 40,
    reason: "exhausted",
  });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
});

test("3.3 maxTurns counts the run's own calls, a step once however often it is tried", () => {
  const tree = new Tree();
  tree.admit("a", { budget: { maxTurns: 3 } });
  tree.admit("b", { parent: run("a") });
  tree.begin("b");
  tree.begin("a", { step: step(1), attempt: attempt("1") });
  tree.begin("a", { step: step(1), attempt: attempt("2") });
  tree.do({ kind: "settle", run: run("a"), attempt: attempt("2"), usage: null, again: true, at: 0 });
  expect(tree.begin("a", { step: step(1), attempt: attempt("3") })).toMatchObject({ attempts: 3 });
  expect(tree.account("a").turns).toBe(1);
  tree.begin("a", { step: step(2) });
  expect(tree.begin("a", { step: step(3) })).toMatchObject({
    kind: "denied",
    dimension: "turns",
    limit: 3,
    used: 2,
    reason: "exhausted",
  });
});

test("3.3 the last turn may be tried again", () => {
  const tree = new Tree({ rootBudget: { maxTurns: 1 } });
  tree.begin("root", { step: step(1), attempt: attempt("1") });
  expect(tree.begin("root", { step: step(1), attempt: attempt("2") })).toMatchObject({ attempts: 2 });
});

test("3.3 the tree's turns and deadline are the root's", () => {
  const tree = new Tree({ treeBudget: { maxTurns: 1 }, rootBudget: { maxTurns: 9 } });
  tree.begin("root");
  expect(tree.begin("root")).toMatchObject({ dimension: "turns", limit: 1 });
});

test("3.5 each attempt is reserved at its ceiling, then settled at its usage", () => {
  const tree = new Tree();
  expect(tree.begin("root", { attempt: attempt("1") })).toEqual({
    kind: "granted",
    outputTokens: 10,
    ceiling: { tokens: 20, costMicros: 30 },
    shrunk: null,
    attempts: 1,
  });
  expect(tree.settle("root", "1", { input: 7, output: 3 })).toEqual({
    tokens: 10,
    costMicros: 13,
    inDoubt: false,
  });
  const { reserved, settled, usage, attempts, steps } = tree.account("root");
  expect({ reserved, settled }).toEqual({
    reserved: { tokens: 0, costMicros: 0 },
    settled: { tokens: 10, costMicros: 13 },
  });
  expect(usage).toMatchObject({ input: 7, output: 3 });
  expect({ attempts, steps }).toEqual({ attempts: [], steps: [] });
});

test("3.5 settling an attempt twice, or an unknown attempt, books nothing", () => {
  const tree = new Tree();
  tree.begin("root", { attempt: attempt("1") });
  tree.settle("root", "1", { input: 1, output: 1 });
  const before = tree.state;
  expect(tree.settle("root", "1", { input: 1, output: 1 })).toBeNull();
  expect(tree.settle("root", "other", { input: 1, output: 1 })).toBeNull();
  expect(tree.settle("gone", "1", { input: 1, output: 1 })).toBeNull();
  expect(tree.state).toBe(before);
});

test("3.5 usage above the ceiling is booked as reported", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 30 } });
  tree.begin("root", { attempt: attempt("1") });
  tree.settle("root", "1", { input: 40, output: 0 });
  expect(Ledger.spend(tree.account("root")).tokens).toBe(40);
  expect(tree.begin("root")).toMatchObject({ kind: "denied", used: 40 });
});

test("3.5 the output shrinks to the largest that fits tokens and cost on every account", () => {
  const byTokens = new Tree({ treeBudget: { maxTokens: 100 } });
  byTokens.admit("a", { budget: { maxTokens: 40 } });
  const wish = { inputTokens: 10, outputTokens: 1000 };
  expect(byTokens.begin("a", { ask: wish })).toMatchObject({ outputTokens: 26, shrunk: "tokens" });
  const byCost = new Tree({ rootBudget: { maxCostUsd: 0.0001 } });
  // 100 micro-dollars without the slice are 90; 10 go for the input, 80 for 40 tokens of output.
  expect(byCost.begin("root", { ask: wish })).toMatchObject({
    outputTokens: 40,
    shrunk: "cost",
    ceiling: { tokens: 50, costMicros: 90 },
  });
});

test("3.5 an output below the floor is denied", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 40 } });
  const ask = { inputTokens: 10, outputTokens: 100 };
  expect(tree.begin("root", { ask: { ...ask, minOutputTokens: 27 } })).toMatchObject({ kind: "denied" });
  expect(tree.begin("root", { ask: { ...ask, minOutputTokens: 26 } })).toMatchObject({ outputTokens: 26 });
});

test("3.5 asking again for an open attempt gives the same grant and books nothing", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 40 } });
  const ask = { inputTokens: 10, outputTokens: 100 };
  const first = tree.begin("root", { step: step(1), attempt: attempt("1"), ask });
  const before = tree.state;
  expect(tree.begin("root", { step: step(1), attempt: attempt("1"), ask })).toEqual(first);
  expect(tree.state).toBe(before);
});

test("3.5 no rounding of huge sums exceeds a cap", () => {
  const cap = 747_222_911_435;
  const tree = new Tree({ rootBudget: { maxCostUsd: cap / 1_000_000 } });
  const ask = { inputTokens: 943_071, outputTokens: Number.MAX_SAFE_INTEGER, landing: true };
  tree.begin("root", { ask: { ...ask, price: { input: 18_751_223, output: 93 } } });
  expect(Ledger.spend(tree.account("root")).costMicros).toBe(cap);
});

test("3.7 usage of up to ten times the ceiling plus 10,000 tokens is accepted", () => {
  const tree = new Tree();
  tree.begin("root", { attempt: attempt("1") });
  expect(tree.settle("root", "1", { input: 10_200, output: 0 })).toMatchObject({ inDoubt: false });
});

test("3.5 a request with amounts that cannot be booked is an error", () => {
  const tree = new Tree();
  for (const inputTokens of [Number.NaN, -1, 0.5, Infinity]) {
    expect(() => tree.begin("root", { ask: { inputTokens } })).toThrow(RangeError);
  }
});

test.each([
  ["the run", { rootBudget: { maxCostUsd: 1 } }],
  ["the tree", { treeBudget: { maxCostUsd: 1 } }],
  ["the tenant", { lease: { tokens: null, costMicros: 1_000_000 } }],
])("3.6 a model without a price is refused where a cost limit is set on %s", (_, options) => {
  const tree = new Tree(options);
  expect(tree.begin("root", { ask: { price: null } })).toMatchObject({
    kind: "denied",
    dimension: "cost",
    limit: 1_000_000,
    used: 0,
    reason: "unpriced",
  });
  expect(tree.begin("root", { ask: { price: null, unpriced: "allow" } })).toMatchObject({
    kind: "granted",
    ceiling: { tokens: 20, costMicros: 0 },
  });
});

test("3.6 without a cost limit no price is needed", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 100 } });
  tree.begin("root", { attempt: attempt("1"), ask: { price: null } });
  expect(tree.settle("root", "1", { input: 5, output: 5 })).toEqual({
    tokens: 10,
    costMicros: 0,
    inDoubt: false,
  });
});

test("3.7 cached tokens are part of the input and have the price of the cache", () => {
  const tree = new Tree();
  tree.begin("root", { attempt: attempt("1"), ask: { price: { ...price, cachedInput: 100_000 } } });
  expect(tree.settle("root", "1", { input: 10, output: 1, cachedInput: 10 })).toMatchObject({
    tokens: 11,
    costMicros: 3,
  });
});

test.each([
  ["absent", null],
  ["NaN", { input: Number.NaN, output: 1 }],
  ["negative", { input: -5, output: 1 }],
  ["broken", { input: 1.5, output: 1 }],
  ["absurd", { input: 10_201, output: 0 }],
  ["impossible", { input: 1, output: 1, cachedInput: 2 }],
])("3.7 a call with %s usage stays booked at its ceiling, in doubt", (_, usage) => {
  const tree = new Tree();
  tree.begin("root", { attempt: attempt("1") });
  expect(tree.settle("root", "1", usage)).toEqual({ tokens: 20, costMicros: 30, inDoubt: true });
  for (const account of [tree.account("root"), tree.state.tree.account]) {
    expect(account).toMatchObject({
      reserved: { tokens: 0, costMicros: 0 },
      inDoubt: { tokens: 20, costMicros: 30 },
    });
  }
});

test("3.8 a budget.warning is emitted once per dimension and account, at 80 %", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 100 } });
  tree.admit("a", { budget: { maxTokens: 50, maxTurns: 3 } });
  tree.begin("a", { attempt: attempt("1") });
  expect(tree.effects).toEqual([]);
  tree.begin("a");
  expect(tree.effects).toEqual([{ kind: "warn", run: run("a"), dimension: "tokens", limit: 50, used: 40 }]);
  tree.settle("a", "1", { input: 60, output: 0 });
  expect(tree.effects).toEqual([{ kind: "warn", run: null, dimension: "tokens", limit: 100, used: 80 }]);
  tree.do({ kind: "topUp", run: run("a"), tokens: 1000, costMicros: 0, turns: 0 });
  tree.do({ kind: "topUp", run: null, tokens: 1000, costMicros: 0, turns: 0 });
  tree.begin("a", { ask: { landing: true } });
  expect(tree.effects).toEqual([{ kind: "warn", run: run("a"), dimension: "turns", limit: 3, used: 3 }]);
});

test("3.9 topUp adds to existing limits, on the run or on the tree", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 10, maxTurns: 2 }, rootBudget: { maxCostUsd: 1 } });
  expect(tree.do({ kind: "topUp", run: null, tokens: 5, costMicros: 7, turns: 1 })).toBe(true);
  expect(tree.state.tree.account).toMatchObject({ maxTokens: 15, maxCostMicros: null });
  expect(tree.account("root")).toMatchObject({ maxTokens: null, maxCostMicros: 1_000_000, maxTurns: 3 });
  expect(tree.do({ kind: "topUp", run: run("root"), tokens: 5, costMicros: 7, turns: 0 })).toBe(true);
  expect(tree.account("root")).toMatchObject({ maxTokens: null, maxCostMicros: 1_000_007 });
});

test("3.9 an ended run cannot be topped up, and a negative top-up is refused", () => {
  const tree = new Tree();
  expect(tree.do({ kind: "topUp", run: run("gone"), tokens: 1, costMicros: 1, turns: 1 })).toBe(false);
  expect(() => tree.do({ kind: "topUp", run: null, tokens: -1, costMicros: 0, turns: 0 })).toThrow(
    RangeError,
  );
});
