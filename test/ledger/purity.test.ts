import { expect, test } from "vitest";
import { RunId, SpawnBudget, TreeId } from "#kernel";
import { Ledger, type LedgerState, type Slot } from "#ledger";
import { attempt, root, run, step, Tree } from "./tree.ts";

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

test("a command without effect gives back the very state", () => {
  const tree = new Tree();
  const before = tree.state;
  tree.of("wake", "root");
  tree.of("yield", "root");
  tree.of("release", "gone");
  tree.cancel("gone");
  tree.settle("root", "gone", null);
  tree.do({ kind: "lend", tokens: 1, cost: 1 });
  expect(tree.state).toBe(before);
});

test("a state is plain JSON", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 100, deadlineS: 5 }, block: { tokens: 50, cost: null } });
  tree.admit("a", { budget: { maxTurns: 3 } });
  tree.begin("a", { step: step(1), attempt: attempt("1") });
  tree.begin("a", { step: step(1), attempt: attempt("2") });
  expect(JSON.parse(JSON.stringify(tree.state))).toEqual(tree.state);
});

test("the accounts of the path are all a command on a run needs; a missing one is an error, not a free call", () => {
  const tree = new Tree();
  tree.admit("a");
  tree.admit("b");
  const { [run("b")]: _, ...accounts } = tree.state.accounts;
  const lean: LedgerState = { ...tree.state, accounts };
  const call = {
    step: step(1),
    attempt: attempt("1"),
    epoch: "",
    ask: null,
    rerun: false,
    blockIsFinal: false,
    at: 0,
  };
  expect(Ledger.begin(lean, { ...call, run: run("a") }).decision).toMatchObject({ kind: "granted" });
  expect(() => Ledger.begin(lean, { ...call, run: run("b") })).toThrow("no account");
});

test("path and subtree name live runs, from the top", () => {
  const tree = new Tree({ maxAgents: 5 });
  tree.admit("a");
  tree.admit("b", { parent: run("a") });
  tree.admit("c");
  expect(Ledger.path(tree.state.slots, run("b"))).toEqual([root, run("a"), run("b")]);
  expect(Ledger.subtree(tree.state.slots, root)).toEqual([root, run("a"), run("c"), run("b")]);
  expect(Ledger.path(tree.state.slots, run("gone"))).toEqual([]);
  expect(Ledger.subtree(tree.state.slots, run("gone"))).toEqual([]);
});

test("cancelling, pausing and resuming a wide tree takes linear time", () => {
  const id = TreeId.of("wide");
  const boss = RunId.root(id);
  const wide = (width: number): number => {
    const spawn = SpawnBudget.of({ maxAgents: width + 1 });
    const opened = Ledger.open({
      root: boss,
      priority: "normal",
      spawn,
      treeBudget: {},
      rootBudget: {},
      block: null,
      at: 0,
    });
    const slot = opened.slots[boss];
    if (!slot) throw new Error("no root");
    const slots: Record<RunId, Slot> = { ...opened.slots };
    for (let number = 1; number <= width; number += 1) {
      slots[RunId.of(id, number)] = {
        ...slot,
        parent: boss,
        phase: number % 2 === 0 ? "running" : "waiting",
      };
    }
    const state = { ...opened, slots };
    const started = performance.now();
    const paused = Ledger.pause(state, { run: boss, at: 1 }).state;
    const resumed = Ledger.resume(paused, { run: boss, at: 2 }).state;
    expect(Ledger.cancel(resumed, { run: boss, reason: "enough", at: 3 }).decision).toHaveLength(width + 1);
    return performance.now() - started;
  };
  const fastest = (width: number): number => Math.min(wide(width), wide(width), wide(width));
  // Quadratic work would take a hundred times as long.
  expect(fastest(10_000)).toBeLessThan(40 * Math.max(fastest(1000), 1));
});
