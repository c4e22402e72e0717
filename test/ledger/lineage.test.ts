import { expect, test } from "vitest";
import { root, run, Tree } from "./tree.ts";

test("4.1 cancel marks the subtree, the first reason wins, and no run there gets a slot", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.admit("b", { parent: run("a"), onFull: "wait", detached: true });
  expect(tree.cancel("b", "first")).toEqual([run("b")]);
  expect(tree.cancel("a", "second")).toEqual([run("a")]);
  expect(tree.slot("b").cancelled).toBe("first");
  expect(tree.cancel("a")).toEqual([]);
  tree.apply("release", "a");
  expect([tree.phase("b"), tree.headcount]).toEqual(["pending", 1]);
});

test("4.1 a run asked for by a cancelled or ended one is denied", () => {
  const tree = new Tree();
  tree.admit("a");
  tree.cancel("a");
  expect(tree.admit("b", { parent: run("a") })).toMatchObject({ kind: "denied", reason: "ended" });
  expect(tree.admit("b", { parent: run("gone") })).toMatchObject({ kind: "denied", reason: "ended" });
});

test("4.3 a deadline counts from the launch, not from the spawning, and is the minimum along the path", () => {
  const tree = new Tree({ maxAgents: 3, treeBudget: { deadlineS: 100 }, rootBudget: { deadlineS: 200 } });
  expect(tree.slot("root").deadline).toBe(101_000);
  tree.admit("a", { budget: { deadlineS: 500 } });
  expect(tree.slot("a").deadline).toBe(101_000);
  tree.admit("b");
  tree.admit("c", { budget: { deadlineS: 10 }, onFull: "wait" });
  tree.at += 50_000;
  tree.apply("release", "b");
  expect(tree.slot("c").deadline).toBe(61_000);
});

test("6.7 the children of an ended run report to its parent; a detached one can be adopted by the root", () => {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("a");
  tree.admit("b", { parent: run("a") });
  tree.admit("c", { parent: run("b") });
  tree.apply("release", "b");
  expect(tree.slot("c").parent).toBe(run("a"));
  expect(tree.do({ kind: "adopt", run: run("c"), parent: root, at: tree.at })).toBe(true);
  expect(tree.slot("c").parent).toBe(root);
  expect(tree.do({ kind: "adopt", run: run("c"), parent: run("a"), at: tree.at })).toBe(false);
  expect(tree.cancel("a")).toEqual([run("a")]);
});
