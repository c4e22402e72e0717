import { expect, test } from "vitest";
import { run, Tree } from "./tree.ts";

test("2.4 in a full tree the victim of a high run is the lowest run below it, or the one spawned last among equals", () => {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "low" });
  tree.admit("c", { priority: "normal" });
  expect(tree.admit("d", { priority: "high" })).toEqual({ kind: "queued", victim: run("b") });
  expect(tree.effects).toEqual([{ kind: "tell", run: run("b"), cause: "preempted" }]);
});

test("2.4 without a run of strictly lower priority a spawn is denied, or queued if the caller asked to wait", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "high" });
  expect(tree.admit("b", { priority: "high" })).toMatchObject({ reason: "no-lower-priority" });
  expect(tree.admit("b", { priority: "high", onFull: "wait" })).toEqual({ kind: "queued", victim: null });
});

test("2.4 with allowPreempt false a spawn is denied, or queued if the caller asked to wait", () => {
  const tree = new Tree({ maxAgents: 2, allowPreempt: false });
  tree.admit("a", { priority: "low" });
  expect(tree.admit("b", { priority: "critical" })).toMatchObject({ reason: "preemption-off" });
  expect(tree.admit("b", { priority: "critical", onFull: "wait" })).toEqual({ kind: "queued", victim: null });
});

test("2.4 a run that yields, is cancelled or is held is never a victim", () => {
  const tree = new Tree({ maxAgents: 4 });
  for (const name of ["a", "b", "c"]) tree.admit(name, { priority: "low" });
  tree.cancel("a");
  tree.apply("pause", "b");
  tree.admit("d", { priority: "high" });
  expect(tree.slot("d").victim).toBe(run("c"));
  expect(tree.admit("e", { priority: "high" })).toMatchObject({
    kind: "denied",
    reason: "no-lower-priority",
  });
});

test("2.5 the slot moves when the victim has yielded, not before", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  expect(tree.admit("b", { priority: "high" })).toEqual({ kind: "queued", victim: run("a") });
  expect([tree.phase("a"), tree.phase("b")]).toEqual(["yielding", "pending"]);
  expect(tree.apply("yield", "a")).toEqual({ phase: "parked" });
  expect(tree.phase("b")).toBe("running");
  expect(tree.effects).toEqual([
    { kind: "parked", run: run("a"), cause: "preempted" },
    { kind: "launch", run: run("b") },
  ]);
});

test("2.5 a waiting victim yields at once, inside the ledger, and the taker has its slot", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.wait("a", null);
  expect(tree.admit("b", { priority: "high" })).toEqual({ kind: "granted" });
  expect(tree.effects).toEqual([{ kind: "parked", run: run("a"), cause: "preempted" }]);
});

test("2.5 a preempted waiter must get a slot on waking before its next step", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.wait("a", null);
  tree.admit("b", { priority: "high" });
  expect(tree.apply("wake", "a")).toEqual({ phase: "parked" });
  expect(tree.begin("a")).toMatchObject({ kind: "refused", why: "paused" });
  tree.apply("release", "b");
  expect(tree.effects).toEqual([{ kind: "resume", run: run("a") }]);
  expect(tree.begin("a")).toMatchObject({ kind: "granted" });
});

test("2.5 a preempted waiter is queued only once it has woken", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.wait("a", null);
  tree.admit("b", { priority: "high" });
  tree.apply("release", "b");
  expect(tree.phase("a")).toBe("parked");
  expect(tree.apply("wake", "a")).toEqual({ phase: "running" });
  expect(tree.effects).toEqual([]);
});

test("2.5 a victim that begins to wait has yielded", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  expect(tree.wait("a", null)).toEqual({ phase: "parked" });
  expect(tree.phase("b")).toBe("running");
});

test("2.5 a victim that ends without yielding leaves its slot to the taker", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("release", "a");
  expect(tree.effects).toEqual([{ kind: "launch", run: run("b") }]);
});

test("2.5 a taker that gets a slot by another way spares its victim", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a", { priority: "low" });
  tree.admit("b");
  tree.admit("c", { priority: "high" });
  tree.apply("release", "b");
  expect(tree.effects).toEqual([
    { kind: "spare", run: run("a") },
    { kind: "launch", run: run("c") },
  ]);
  expect(tree.apply("yield", "a")).toEqual({ phase: "running" });
  expect(tree.headcount).toBe(3);
});

test.each(["release", "cancel", "pause"] as const)(
  "2.5 a taker that leaves the line by %s spares its victim",
  (kind) => {
    const tree = new Tree({ maxAgents: 2 });
    tree.admit("a", { priority: "low" });
    tree.admit("b", { priority: "high" });
    if (kind === "cancel") tree.cancel("b");
    else tree.apply(kind, "b");
    expect(tree.effects).toEqual([{ kind: "spare", run: run("a") }]);
    expect(tree.phase("a")).toBe("running");
  },
);

test("2.5 a victim that is held is not spared", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("pause", "a");
  tree.apply("release", "b");
  expect(tree.effects).toEqual([]);
  expect(tree.phase("a")).toBe("yielding");
});

test("2.5 a paused run's release frees nothing", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  tree.apply("yield", "a");
  tree.admit("c", { onFull: "wait" });
  tree.apply("release", "a");
  expect(tree.phase("c")).toBe("pending");
  expect(tree.headcount).toBe(2);
});

test("2.5 the root is never a victim", () => {
  const tree = new Tree({ maxAgents: 2, priority: "background" });
  tree.admit("a", { priority: "critical" });
  tree.wait("root", ["a"]);
  expect(tree.admit("b", { priority: "critical", parent: run("a") })).toMatchObject({
    reason: "no-lower-priority",
  });
});
