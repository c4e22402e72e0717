import { expect, test } from "vitest";
import { type Gate, Ledger, type LeaseGrant } from "#ledger";
import { attempt, root, run, step, Tree } from "./tree.ts";

/** A call of 20 tokens that is reported as 60. */
function overReport(tree: Tree, name = "root"): void {
  expect(tree.begin(name, { attempt: attempt("over") })).toMatchObject({ kind: "granted" });
  tree.settle(name, "over", { input: 30, output: 30 });
}

test("3.7 usage above the ceiling is booked as reported, and nothing begins on an account that it exceeds", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 50 } });
  overReport(tree);
  expect(tree.state.tree.account).toMatchObject({ settled: { tokens: 60 }, exceeded: ["tokens"] });
  const exceeded = {
    kind: "denied",
    reason: "exceeded",
    dimension: "tokens",
    account: "tree",
    owner: null,
    limit: 50,
    used: 60,
    reserved: 0,
    inDoubt: 0,
  };
  expect(tree.begin("root")).toEqual(exceeded);
  expect(tree.begin("root", { ask: { landing: true } })).toEqual(exceeded);
  expect(tree.begin("root", { ask: null })).toEqual(exceeded);
  expect(tree.admit("a")).toEqual(exceeded);
  expect(tree.state.tree.account.inFlight).toBe(0);
});

test("3.7 usage above the ceiling that stays within every limit stops nothing", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 100 }, rootBudget: { maxCostUsd: 1 } });
  overReport(tree);
  expect(tree.state.tree.account).toMatchObject({ settled: { tokens: 60 }, exceeded: [] });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
});

test("3.7 only the accounts that are exceeded stop: a run above them goes on", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 1_000 } });
  tree.admit("a", { budget: { maxTokens: 50 } });
  tree.admit("b", { parent: run("a") });
  overReport(tree, "b");
  expect(tree.begin("b")).toMatchObject({ reason: "exceeded", account: "subtree", owner: run("a") });
  expect(tree.begin("a")).toMatchObject({ reason: "exceeded", account: "run", owner: run("a") });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
});

test("3.7 an exceeded account stays so when other calls turn out cheaper, until a top-up covers it", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 75 } });
  tree.begin("root", { attempt: attempt("cheap") });
  overReport(tree);
  tree.settle("root", "cheap", { input: 1, output: 0 });
  expect(Ledger.spend(tree.state.tree.account).tokens).toBe(61);
  expect(tree.begin("root")).toMatchObject({ kind: "denied", reason: "exceeded", used: 61 });
  tree.do({ kind: "topUp", run: null, tokens: 40, costMicros: 0, turns: 0 });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
});

test("3.7 a top-up that does not cover the excess allows no call", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 50 } });
  overReport(tree);
  tree.do({ kind: "topUp", run: null, tokens: 9, costMicros: 0, turns: 0 });
  expect(tree.begin("root")).toMatchObject({ kind: "denied", reason: "exceeded", limit: 59 });
});

test("3.7 the real cost of a call in doubt can also exceed an account", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 50 } });
  tree.begin("root", { attempt: attempt("lost") });
  tree.settle("root", "lost", null);
  expect(tree.state.tree.account.exceeded).toEqual([]);
  tree.do({ kind: "reconcile", attempt: attempt("lost"), usage: { input: 51, output: 0 } });
  expect(tree.begin("root")).toMatchObject({ reason: "exceeded", used: 51 });
});

test("3.7 figures that cannot be true stay in doubt at the ceiling, and exceed nothing", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 50 } });
  tree.begin("root", { attempt: attempt("absurd") });
  tree.settle("root", "absurd", { input: 1_000_000, output: 0 });
  expect(tree.state.tree.account).toMatchObject({ inDoubt: { tokens: 20 }, exceeded: [] });
});

/** The answer to a call in a tree that is exceeded while another call is in flight. */
function gateBeside(onLimit: "land" | "wait"): Gate {
  const tree = new Tree({ treeBudget: { maxTokens: 75, onLimit } });
  tree.begin("root");
  overReport(tree);
  return tree.begin("root", { step: step(9), waitsSince: null });
}

test("3.10 a call does not wait at an account that is exceeded, unless for a top-up", () => {
  expect(gateBeside("land")).toMatchObject({ kind: "denied", reason: "exceeded" });
  expect(gateBeside("wait")).toMatchObject({ kind: "waits", needsTopUp: true });
});

test("3.10 waiting calls are woken when their account is exceeded", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 50 } });
  tree.begin("root", { attempt: attempt("over") });
  tree.begin("root");
  expect(tree.begin("root", { step: step(9), waitsSince: null })).toMatchObject({ kind: "waits" });
  tree.settle("root", "over", { input: 60, output: 0 });
  const woken = tree.do({ kind: "decideWaiting", takeBy: 9_000, at: tree.at });
  expect(woken).toEqual([{ run: root, step: step(9) }]);
  expect(tree.state.tree.account.inFlight).toBe(1);
});

test("3.6 a call of unknown size is refused at the nearest limit, and nowhere else", () => {
  const unbounded = { ask: { unbounded: true } } as const;
  const tree = new Tree({ treeBudget: { maxCostUsd: 1 } });
  tree.admit("a", { budget: { maxTokens: 50 } });
  expect(tree.begin("a", unbounded)).toMatchObject({ reason: "unbounded", account: "run", limit: 50 });
  expect(tree.begin("root", unbounded)).toMatchObject({ reason: "unbounded", account: "tree" });
  expect(new Tree({ rootBudget: { maxTurns: 5 } }).begin("root", unbounded)).toMatchObject({
    kind: "granted",
  });
  const lent = new Tree({ lease: { tokens: 50, costMicros: null } });
  expect(lent.begin("root", unbounded)).toMatchObject({ reason: "unbounded", account: "tenant" });
});

/** Returns the refusal of a tree that got too small a share of a user's budget, while other trees hold the rest. */
function refusedByUser(reserved: number): Gate {
  const tree = new Tree({ lease: { tokens: 0, costMicros: null } });
  const budget = { account: "user", limit: 100, spent: 30, reserved } as const;
  const limits = { tokens: budget, costMicros: null };
  const lent: LeaseGrant = { tokens: 25, costMicros: null, limits, leasedAt: 1, until: 9_000, adds: true };
  tree.do({ kind: "grantQuota", ...lent });
  tree.begin("root", { leaseIsFinal: true });
  return tree.begin("root", { leaseIsFinal: true });
}

test("9.1 a refusal by a tenant's budget names that budget, and whether other trees hold it", () => {
  const met = { kind: "denied", dimension: "tokens", account: "user", owner: null, limit: 100, inDoubt: 0 };
  expect(refusedByUser(0)).toEqual({ ...met, reason: "exhausted", used: 50, reserved: 0 });
  expect(refusedByUser(45)).toEqual({ ...met, reason: "wait-timed-out", used: 95, reserved: 45 });
});
