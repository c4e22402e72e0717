import { expect, test } from "vitest";
import { LazyTree } from "./lazy-tree.ts";

const withDeadline = (deadlineS: number): LazyTree => new LazyTree({ maxAgents: 4, budget: { deadlineS } });

test("a tree sends itself one message for its earliest deadline", () => {
  const tree = withDeadline(60);
  expect(tree.takeSent("timerDue")).toEqual({ at: 62_001 });
  tree.spawnChild(tree.root, { budget: { deadlineS: 50 } });
  expect(tree.takeSent("timerDue")).toEqual({ at: 52_001 });
  tree.spawnChild(tree.root, { budget: { deadlineS: 55 } });
  expect(tree.takeSent("timerDue")).toBeNull();
});

test("a tree without a deadline sends itself no message", () => {
  const tree = new LazyTree({ maxAgents: 4 });
  tree.spawnChild(tree.root);
  expect(tree.takeSent("timerDue")).toBeNull();
});

test("the time of a tree that waits for its turn begins with the turn", () => {
  const tree = new LazyTree({ maxAgents: 2, budget: { deadlineS: 60 }, open: { waits: true } });
  tree.object.time = 5_001;
  tree.call("startTurn", { at: 1 });
  expect(tree.slot(tree.root)).toMatchObject({ deadline: 65_001 });
});

test.each([
  ["completed", "answer", "completed"],
  ["failed", "error", "cancelled"],
] as const)("a run that has %s when its deadline is over, by %s, ends %s", (status, stopReason, ends) => {
  const tree = withDeadline(60);
  tree.object.time = 70_000;
  tree.call("end", { ...tree.from(tree.root), end: { status, stopReason, output: "partial" } });
  expect(tree.call("result", { run: tree.root }).result).toMatchObject({ status: ends, output: "partial" });
});

test("a run that does not end after its cancel is ended by its tree, and its execution is killed", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.spawnChild(tree.root);
  tree.call("cancel", { run: tree.root, reason: "enough", at: 3 });
  tree.end(tree.child(1));
  const { number } = { number: 0, ...Object(tree.takeSent("cancelOverdue")) };
  tree.call("cancelOverdue", { number, at: 20_000 });
  expect(tree.object.killed).toEqual(["execution 1"]);
  expect(tree.call("status", { run: tree.root }).result).toBe("cancelled");
});

test("the time of a tree does not go back with that of its engine, unless it was far ahead", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const clockAt = (time: number): unknown => {
    tree.object.time = time;
    tree.begin(tree.root);
    return Object(tree.readStored("tree")).clock;
  };
  expect([100_000, 90_000, 40_000, 39_999].map(clockAt)).toEqual([100_000, 100_000, 100_000, 39_999]);
});
