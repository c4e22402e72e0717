import { expect, test } from "vitest";
import { RunId, SpawnBudget, TreeId } from "#kernel";
import { Ledger, type LedgerState, type Slot } from "#ledger";
import { attempt, root, run, step, Tree } from "./tree.ts";
import { cpuMs } from "../cpu-time.ts";

const { limits } = Ledger.noLease;

test("records that a command does not change keep their identity", () => {
  const tree = new Tree({ maxAgents: 5 });
  tree.admit("a");
  tree.admit("b");
  tree.admit("c", { parent: run("a") });
  const before = tree.state;
  tree.begin("c", { attempt: attempt("1") });
  const { accounts, slots, doubts, tree: common } = tree.state;
  expect(accounts[run("b")]).toBe(before.accounts[run("b")]);
  expect(accounts[run("a")]).not.toBe(before.accounts[run("a")]);
  expect(slots[run("a")]).toBe(before.slots[run("a")]);
  expect(doubts).toBe(before.doubts);
  expect(common.spawn).toBe(before.tree.spawn);
});

test("a command without effect returns the same state object", () => {
  const tree = new Tree();
  const before = tree.state;
  tree.apply("wake", "root");
  tree.apply("yield", "root");
  tree.apply("release", "gone");
  tree.cancel("gone");
  tree.settle("root", "gone", null);
  tree.do({ kind: "grantQuota", tokens: 1, costMicros: 1, limits, leasedAt: 1, until: 9_000, adds: true });
  expect(tree.state).toBe(before);
});

test("the state of the ledger is plain JSON", () => {
  const tree = new Tree({
    treeBudget: { maxTokens: 100, deadlineS: 5 },
    lease: { tokens: 50, costMicros: null },
  });
  tree.admit("a", { budget: { maxTurns: 3 } });
  tree.begin("a", { step: step(1), attempt: attempt("1") });
  tree.begin("a", { step: step(1), attempt: attempt("2") });
  expect(JSON.parse(JSON.stringify(tree.state))).toEqual(tree.state);
});

test("a command on a run needs only the accounts of its path, and a missing account is an error", () => {
  const tree = new Tree();
  tree.admit("a");
  tree.admit("b");
  const { [run("b")]: _, ...accounts } = tree.state.accounts;
  const lean: LedgerState = { ...tree.state, accounts };
  const call = {
    step: step(1),
    attempt: attempt("1"),
    epoch: { id: "", order: null },
    ask: null,
    rerun: false,
    leaseIsFinal: false,
    at: 0,
  };
  expect(Ledger.begin(lean, { ...call, run: run("a") }).decision).toMatchObject({ kind: "granted" });
  expect(() => Ledger.begin(lean, { ...call, run: run("b") })).toThrow("no account");
});

test("a path and the runs that a pause reaches are live runs, the root first", () => {
  const tree = new Tree({ maxAgents: 5 });
  tree.admit("a");
  tree.admit("b", { parent: run("a") });
  tree.admit("c");
  const slots = { get: (id: RunId) => tree.state.slots[id] };
  expect(Ledger.path(slots, run("b"))).toEqual([root, run("a"), run("b")]);
  expect(Ledger.path(slots, run("gone"))).toEqual([]);
  expect(tree.apply("pause", "root")).toEqual([root, run("a"), run("b"), run("c")]);
  expect(tree.apply("pause", "gone")).toEqual([]);
});

/** Returns the CPU time of pausing, resuming and cancelling a tree with so many children. */
function stopCost(children: number): number {
  const id = TreeId.of("wide");
  const lead = RunId.root(id);
  const spawn = SpawnBudget.of({ maxAgents: children + 1 });
  const budgets = { treeBudget: {}, rootBudget: {}, lease: null };
  const opened = Ledger.open({ root: lead, priority: "normal", spawn, ...budgets, at: 0 });
  const slot = new Tree().slot("root");
  const slots: Record<RunId, Slot> = { [lead]: { ...slot, children } };
  for (let number = 1; number <= children; number += 1) {
    const phase = number % 2 === 0 ? "running" : "waiting";
    slots[RunId.of(id, number)] = { ...slot, parent: lead, phase };
  }
  const all = children + 1;
  const headcount = { ...opened.tree.headcount, live: all, holders: all, active: all };
  const state = { ...opened, slots, tree: { ...opened.tree, headcount } };
  return cpuMs(() => {
    const paused = Ledger.pause(state, { run: lead, at: 1 }).state;
    const resumed = Ledger.resume(paused, { run: lead, at: 2 }).state;
    const { decision } = Ledger.cancel(resumed, { run: lead, reason: "enough", at: 3 });
    expect(decision).toHaveLength(all);
  });
}

test("pausing, resuming and cancelling a tree of 20,000 runs takes linear time", () => {
  stopCost(2_000);
  // Ten times the runs; a scan for each run would be a hundred times the work.
  expect(stopCost(20_000)).toBeLessThan(40 * Math.max(stopCost(2_000), 5));
});
