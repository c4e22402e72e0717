import { expect, test } from "vitest";
import { run, Tree } from "./tree.ts";

test("2.7 a run lowered below normal in a full tree is preempted, and skipped until another slot frees", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  tree.admit("b");
  tree.reprioritize("a", "low");
  expect(tree.effects).toEqual([{ kind: "tell", run: run("a"), cause: "preempted" }]);
  tree.apply("yield", "a");
  expect([tree.phase("a"), tree.headcount]).toEqual(["parked", 2]);
  tree.apply("release", "b");
  expect(tree.effects).toEqual([{ kind: "resume", run: run("a") }]);
});

test("2.7 a waiting run lowered below normal is parked at once, and its slot goes to the queue", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.wait("a", null);
  tree.admit("b", { priority: "background", onFull: "wait" });
  tree.reprioritize("a", "low");
  expect(tree.effects).toEqual([
    { kind: "parked", run: run("a"), cause: "preempted" },
    { kind: "launch", run: run("b") },
  ]);
});

test("2.7 a run lowered with free slots, or to normal, changes only its priority", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a", { priority: "high" });
  tree.reprioritize("a", "low");
  expect([tree.phase("a"), tree.slot("a").priority]).toEqual(["running", "low"]);
  tree.admit("b", { priority: "high" });
  tree.reprioritize("b", "normal");
  expect([tree.phase("b"), tree.effects]).toEqual(["running", []]);
});

test("2.7 a demoted run for which all others wait is no longer skipped", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.wait("root", ["a"]);
  tree.reprioritize("a", "low");
  tree.apply("yield", "a");
  expect(tree.effects).toEqual([
    { kind: "parked", run: run("a"), cause: "preempted" },
    { kind: "resume", run: run("a") },
  ]);
});

test("2.7 a demoted run raised to normal before it has yielded goes on", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.reprioritize("a", "low");
  tree.reprioritize("a", "normal");
  expect(tree.effects).toEqual([{ kind: "spare", run: run("a") }]);
});

test("2.7 a preempted run that is raised resumes if there is room", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.reprioritize("a", "low");
  tree.apply("yield", "a");
  expect(tree.reprioritize("a", "normal")).toEqual({ phase: "running" });
  expect(tree.effects).toEqual([{ kind: "resume", run: run("a") }]);
});

test("2.7 a preempted run that is raised resumes if it may now preempt", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("yield", "a");
  tree.reprioritize("a", "high");
  expect([tree.phase("a"), tree.effects]).toEqual(["parked", []]);
  tree.reprioritize("a", "critical");
  expect(tree.effects).toEqual([{ kind: "tell", run: run("b"), cause: "preempted" }]);
  tree.apply("yield", "b");
  expect(tree.phase("a")).toBe("running");
});

test("2.7 a victim raised to its taker's rank is spared, and the taker finds another", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a", { priority: "low" });
  tree.admit("b");
  tree.admit("c", { priority: "high" });
  tree.reprioritize("a", "high");
  expect(tree.effects).toEqual([
    { kind: "spare", run: run("a") },
    { kind: "tell", run: run("b"), cause: "preempted" },
  ]);
});

test("2.7 a taker lowered to normal lets its victim go", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.reprioritize("b", "normal");
  expect(tree.effects).toEqual([{ kind: "spare", run: run("a") }]);
  expect(tree.phase("b")).toBe("pending");
});

test("2.7 reprioritizing an unknown run has no effect, and cannot pause the root", () => {
  const tree = new Tree({ maxAgents: 1 });
  const before = tree.state;
  expect(tree.reprioritize("a", "low")).toEqual({ phase: "ended" });
  expect(tree.state).toBe(before);
  tree.reprioritize("root", "background");
  expect([tree.phase("root"), tree.effects]).toEqual(["running", []]);
});
