import { expect, test } from "vitest";
import { Ledger } from "#ledger";
import { root, run, Tree } from "./tree.ts";

/** The time for which a run has stood still. */
const idleOf = (tree: Tree, name: string): number => Ledger.idleTime(tree.slot(name), tree.at);

/** A lead that waits for its child. */
function createLead(): Tree {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("child");
  tree.do({ kind: "wait", run: root, on: [run("child")], at: tree.at });
  return tree;
}

const block = (tree: Tree, name: string): unknown =>
  tree.do({ kind: "wait", run: run(name), on: null, isBlocked: true, at: tree.at });

test("a run that waits for a child stands still exactly while the child does", () => {
  const tree = createLead();
  tree.at += 100;
  block(tree, "child");
  tree.at += 1_000;
  expect([idleOf(tree, "child"), idleOf(tree, "root")]).toEqual([1_000, 1_000]);
  tree.apply("wake", "child");
  tree.at += 100;
  expect([idleOf(tree, "child"), idleOf(tree, "root")]).toEqual([1_000, 1_000]);
  tree.apply("pause", "child");
  tree.at += 10;
  expect([idleOf(tree, "child"), idleOf(tree, "root")]).toEqual([1_010, 1_010]);
});

test("a run with a child that works does not stand still", () => {
  const tree = createLead();
  tree.admit("other");
  block(tree, "child");
  tree.at += 1_000;
  expect([idleOf(tree, "child"), idleOf(tree, "root")]).toEqual([1_000, 0]);
  tree.apply("release", "other");
  tree.at += 10;
  expect(idleOf(tree, "root")).toBe(10);
});

test.each([
  ["a signal", null],
  ["a run that is not below it", [run("child")]],
])("a run that waits for %s does not stand still", (_, on) => {
  const tree = createLead();
  tree.admit("other");
  tree.do({ kind: "wait", run: run("other"), on, at: tree.at });
  tree.at += 1_000;
  expect(idleOf(tree, "other")).toBe(0);
});

test("a cancelled run is about to end: it does not stand still", () => {
  const tree = createLead();
  block(tree, "child");
  tree.at += 10;
  tree.cancel("child");
  tree.at += 1_000;
  expect([idleOf(tree, "child"), idleOf(tree, "root")]).toEqual([10, 10]);
});

test("time without a worker is no time", () => {
  const tree = createLead();
  block(tree, "child");
  tree.at += 5_000;
  const { tree: shared } = tree.state;
  tree.state = { ...tree.state, tree: { ...shared, absentMs: 4_000 } };
  expect(Ledger.toWorkingTime(tree.state.tree, tree.at)).toBe(tree.at - 4_000);
  tree.apply("wake", "child");
  expect(idleOf(tree, "child")).toBe(1_000);
});

test("a run that goes on is told of once, if an ask has waited for that", () => {
  const tree = createLead();
  block(tree, "child");
  tree.apply("wake", "child");
  expect(tree.effects).toEqual([]);
  block(tree, "child");
  const { slots } = tree.state;
  tree.state = { ...tree.state, slots: { ...slots, [root]: { ...tree.slot("root"), hasLateAsks: true } } };
  tree.apply("wake", "child");
  expect(tree.effects).toEqual([{ kind: "goesOn", run: root }]);
  block(tree, "child");
  tree.apply("wake", "child");
  expect(tree.effects).toEqual([]);
});
