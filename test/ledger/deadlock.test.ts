import { expect, test } from "vitest";
import { run, Tree } from "./tree.ts";

test("2.12 with maxAgents 1 a queue request is denied at once with would-deadlock", () => {
  const tree = new Tree({ maxAgents: 1 });
  expect(tree.admit("a", { onFull: "wait", detached: true })).toMatchObject({ reason: "would-deadlock" });
});

test("2.12 a request is denied at once with would-deadlock if every live run waits for a queued one", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.wait("root", ["a"]);
  expect(tree.admit("b", { parent: run("a"), onFull: "wait" })).toMatchObject({ reason: "would-deadlock" });
  expect(tree.admit("b", { parent: run("a"), onFull: "wait", detached: true })).toMatchObject({
    kind: "queued",
  });
});

test.each([
  ["a run at work", (tree: Tree) => tree.wait("root", ["b"])],
  ["a wait that something else can end", (tree: Tree) => tree.wait("b", null)],
  ["a run that has ended", (tree: Tree) => tree.wait("b", ["gone"])],
  [
    "a wait for a cancelled run",
    (tree: Tree) => {
      tree.admit("x", { onFull: "wait" });
      tree.cancel("x");
      tree.wait("b", ["x"]);
    },
  ],
  [
    "a wait for a held run",
    (tree: Tree) => {
      tree.apply("pause", "b");
      tree.apply("yield", "b");
      tree.admit("x");
      tree.wait("x", ["b"]);
    },
  ],
  [
    "a cancelled run",
    (tree: Tree) => {
      tree.wait("b", ["a"]);
      tree.cancel("b");
    },
  ],
])("2.12 the queue moves on with %s", (_, prepare) => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  tree.admit("b");
  tree.wait("root", ["a"]);
  prepare(tree);
  expect(tree.admit("c", { parent: run("a"), onFull: "wait" })).toEqual({ kind: "queued", victim: null });
});

test("2.12 a run without a slot that something else can wake keeps the queue", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.wait("a", null);
  tree.admit("b", { priority: "high" });
  tree.admit("c", { onFull: "wait" });
  tree.wait("root", ["a"]);
  tree.wait("b", ["c"]);
  expect(tree.effects).toEqual([]);
  tree.wait("root", ["c"]);
  tree.apply("release", "a");
  expect(tree.effects).toEqual([{ kind: "drop", run: run("c"), reason: "would-deadlock" }]);
});

test("2.12 a wait that would stop the whole tree drops the queued runs", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.admit("b", { onFull: "wait" });
  tree.wait("root", ["a", "b"]);
  expect(tree.effects).toEqual([]);
  tree.wait("a", ["b"]);
  expect(tree.effects).toEqual([{ kind: "drop", run: run("b"), reason: "would-deadlock" }]);
  tree.apply("release", "a");
  expect(tree.phase("b")).toBe("pending");
});

test("2.12 if all runs wait for a parked run, the lowest waiting run lends its slot", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("yield", "a");
  tree.wait("root", ["a"]);
  tree.wait("b", ["a"]);
  expect(tree.effects).toEqual([
    { kind: "parked", run: run("b"), cause: "preempted" },
    { kind: "resume", run: run("a") },
  ]);
});

test("2.12 the queue advances when the requester must yield", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.wait("root", ["a"]);
  tree.apply("pause", "a");
  tree.apply("resume", "a");
  tree.reprioritize("a", "low");
  expect(tree.phase("a")).toBe("yielding");
  expect(tree.admit("b", { parent: run("a"), onFull: "wait" })).toEqual({ kind: "queued", victim: null });
});

/** Both slots are held by runs that wait for `a`, which has none. */
function treeWaitingForA(prepare: (tree: Tree) => void): Tree {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  prepare(tree);
  tree.wait("root", ["a"]);
  tree.wait("b", ["a"]);
  return tree;
}

const lent = [
  { kind: "parked", run: run("b"), cause: "preempted" },
  { kind: "resume", run: run("a") },
];

test("2.12 a lent slot goes to the first in the queue, and no run is dropped", () => {
  const tree = treeWaitingForA((before) => {
    before.admit("b", { priority: "high" });
    before.apply("yield", "a");
    before.admit("c", { onFull: "wait" });
  });
  expect(tree.effects).toEqual([lent[0], { kind: "launch", run: run("c") }]);
  tree.apply("release", "c");
  expect(tree.effects).toEqual([lent[1]]);
});

test("2.12 a slot is lent to a run that wakes without one", () => {
  const tree = treeWaitingForA((before) => {
    before.wait("a", null);
    before.admit("b", { priority: "high" });
  });
  expect(tree.apply("wake", "a")).toEqual({ phase: "running" });
  expect(tree.effects).toEqual(lent.slice(0, 1));
});

test("2.12 a slot is lent to a run that is resumed without one", () => {
  const tree = treeWaitingForA((before) => {
    before.apply("pause", "a");
    before.apply("yield", "a");
    before.admit("b", { priority: "high" });
  });
  expect(tree.effects).toEqual([]);
  tree.apply("resume", "a");
  expect(tree.effects).toEqual(lent);
});
