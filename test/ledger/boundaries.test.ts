import { expect, test } from "vitest";
import { attempt, root, run, step, Tree } from "./tree.ts";

/** A tree whose root and one child hold all slots. */
function fullTree(): Tree {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  return tree;
}

test("2.7 a demoted run that is raised, but not to normal, still yields", () => {
  const tree = fullTree();
  tree.reprioritize("a", "background");
  tree.reprioritize("a", "low");
  expect([tree.phase("a"), tree.slot("a").skipped]).toEqual(["yielding", true]);
});

test("2.7 a demoted run that is demoted once more is still passed over", () => {
  const tree = fullTree();
  tree.reprioritize("a", "low");
  tree.apply("yield", "a");
  tree.reprioritize("a", "background");
  expect([tree.phase("a"), tree.slot("a").skipped, tree.headcount]).toEqual(["parked", true, 1]);
});

test("2.7 a demoted run is still skipped after a slot moved to the run it was promised to", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a", { priority: "low" });
  tree.admit("b");
  tree.reprioritize("b", "low");
  tree.apply("yield", "b");
  tree.admit("c");
  tree.admit("d", { priority: "high" });
  tree.apply("yield", "a");
  expect([tree.phase("d"), tree.slot("b").skipped]).toEqual(["running", true]);
});

test("2.5 the slot of a run that ends goes to the run it was promised to, whichever other runs wait", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("d", { priority: "high" });
  tree.admit("e", { priority: "critical", onFull: "wait" });
  tree.apply("release", "a");
  expect([tree.phase("d"), tree.phase("e")]).toEqual(["running", "pending"]);
});

test("2.11 a held run that begins to wait leaves its slot to the next in the queue", () => {
  const tree = fullTree();
  tree.admit("b", { onFull: "wait" });
  tree.apply("pause", "a");
  tree.wait("a", null);
  expect([tree.phase("a"), tree.phase("b")]).toEqual(["parked", "running"]);
});

test("2.11 pause returns the runs that it holds, without runs already held or cancelled", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  tree.admit("b");
  tree.cancel("b");
  expect(tree.apply("pause", "a")).toEqual([run("a")]);
  expect(tree.apply("pause", "root")).toEqual([root]);
  expect(tree.effects).toEqual([{ kind: "tell", run: root, cause: "held" }]);
  expect([tree.slot("b").held, tree.apply("pause", "a")]).toEqual([false, []]);
});

test("2.8 a wait that includes a held run is not a deadlock until that run is resumed", () => {
  const tree = fullTree();
  tree.admit("b", { onFull: "wait" });
  tree.admit("c", { onFull: "wait" });
  tree.apply("pause", "c");
  tree.wait("a", ["b"]);
  tree.wait("root", ["b", "c"]);
  expect(tree.effects).toEqual([]);
  tree.apply("resume", "c");
  expect(tree.effects.map(({ kind }) => kind)).toEqual(["drop", "drop"]);
  expect(tree.slot("b").cancelled).toBe("would-deadlock");
});

test("a run that waited is at work again when it wakes; one that has yielded keeps its place in line", () => {
  const tree = fullTree();
  tree.wait("a", null);
  expect(tree.apply("wake", "a")).toEqual({ phase: "running" });
  tree.admit("b", { priority: "high" });
  tree.reprioritize("a", "low");
  tree.apply("pause", "a");
  tree.apply("yield", "a");
  const { since } = tree.slot("a");
  tree.at += 100;
  tree.apply("wake", "a");
  expect(tree.slot("a").since).toBe(since);
});

test("3.9 a top-up of a run leaves the tree's limits as they are", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 100 } });
  tree.admit("a", { budget: { maxTokens: 10 } });
  tree.do({ kind: "topUp", run: run("a"), tokens: 5, costMicros: 0, turns: 0 });
  expect([tree.account("a").maxTokens, tree.state.tree.account.maxTokens]).toEqual([15, 100]);
});

test("3.10 a limit of 0 gives no warning before anything is used", () => {
  const tree = new Tree({ treeBudget: { maxCostUsd: 0 } });
  const free = { input: 0, output: 0 };
  expect(tree.begin("root", { ask: { price: free } })).toMatchObject({ kind: "granted" });
  expect(tree.effects).toEqual([]);
});

test("9.1 a call one micro-dollar above the loan asks to borrow it, and changes nothing until then", () => {
  const tree = new Tree({ lease: { tokens: 1_000, costMicros: 29 } });
  tree.begin("root", { ask: null });
  tree.wait("root", null);
  const before = tree.state;
  expect(tree.begin("root")).toEqual({ kind: "needs-lease", tokens: 0, costMicros: 1 });
  expect(tree.state).toBe(before);
});

test("9.1 a loan of tokens alone does not refuse a model without a price", () => {
  const tree = new Tree({ lease: { tokens: 1_000, costMicros: null } });
  expect(tree.begin("root", { ask: { price: null }, step: step(1), attempt: attempt("one") })).toMatchObject({
    kind: "granted",
  });
  expect(tree.account("root").attempts).toMatchObject([{ id: "one", kind: "model" }]);
});

test("9.1 a call without a price borrows the tokens that its loan lacks", () => {
  const tree = new Tree({ lease: { tokens: 5, costMicros: null } });
  expect(tree.begin("root", { ask: { price: null } })).toEqual({
    kind: "needs-lease",
    tokens: 15,
    costMicros: 0,
  });
});

test("9.1 a tree that borrowed nothing returns nothing", () => {
  expect(new Tree().do({ kind: "returnQuota" })).toBeNull();
});
