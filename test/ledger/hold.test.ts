import { expect, test } from "vitest";
import { root, run, Tree } from "./tree.ts";

test("2.11 pause holds the run and its subtree, and their slots go to others", () => {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("a");
  tree.admit("b", { parent: run("a") });
  tree.wait("b", null);
  tree.admit("c");
  tree.admit("d", { onFull: "wait" });
  expect(tree.apply("pause", "a")).toEqual([run("a"), run("b")]);
  expect(tree.effects).toEqual([
    { kind: "tell", run: run("a"), cause: "held" },
    { kind: "parked", run: run("b"), cause: "held" },
    { kind: "launch", run: run("d") },
  ]);
  tree.apply("yield", "a");
  expect([tree.phase("a"), tree.phase("b"), tree.phase("c")]).toEqual(["parked", "parked", "running"]);
});

test("2.11 only resume lifts a hold; a held run stays where a slot is free", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.apply("pause", "a");
  tree.apply("yield", "a");
  tree.reprioritize("a", "critical");
  expect([tree.phase("a"), tree.headcount]).toEqual(["parked", 1]);
  expect(tree.apply("resume", "a")).toEqual([run("a")]);
  expect(tree.effects).toEqual([{ kind: "resume", run: run("a") }]);
});

test("2.11 a resumed run queues: it gets a slot when one frees", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.apply("pause", "a");
  tree.apply("yield", "a");
  tree.admit("b");
  tree.apply("resume", "a");
  expect(tree.phase("a")).toBe("parked");
  tree.apply("release", "b");
  expect(tree.phase("a")).toBe("running");
});

test("2.11 a run resumed before it has yielded goes on", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.apply("pause", "a");
  tree.apply("resume", "a");
  expect(tree.effects).toEqual([{ kind: "spare", run: run("a") }]);
});

test("2.11 a resumed run that was preempted still yields", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("pause", "a");
  tree.apply("resume", "a");
  expect([tree.phase("a"), tree.effects]).toEqual(["yielding", []]);
});

test("2.11 on the root pause holds the tree; a held root keeps its slot and begins nothing", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  expect(tree.apply("pause", "root")).toEqual([root, run("a")]);
  expect(tree.apply("yield", "root")).toEqual({ phase: "running" });
  expect(tree.begin("root")).toMatchObject({ kind: "refused", why: "paused" });
  tree.apply("resume", "root");
  expect(tree.effects).toEqual([
    { kind: "spare", run: root },
    { kind: "spare", run: run("a") },
  ]);
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
});

test("2.11 a run spawned by a held one is held with it, and launched when the hold is lifted", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  tree.apply("pause", "a");
  expect(tree.admit("b", { parent: run("a") })).toEqual({ kind: "queued", victim: null });
  expect(tree.phase("b")).toBe("pending");
  tree.apply("resume", "a");
  expect(tree.effects).toEqual([
    { kind: "spare", run: run("a") },
    { kind: "launch", run: run("b") },
  ]);
});

test("2.11 pausing an unknown run has no effect", () => {
  const tree = new Tree();
  const before = tree.state;
  expect(tree.apply("pause", "unknown")).toEqual([]);
  expect(tree.state).toBe(before);
});

test("2.11 a held root of a tree without children spawns no run", () => {
  const tree = new Tree({ maxAgents: 1 });
  tree.apply("pause", "root");
  expect(tree.admit("a")).toMatchObject({ kind: "denied", reason: "full" });
  expect(tree.admit("a", { onFull: "wait" })).toMatchObject({ kind: "denied", reason: "would-deadlock" });
});
