import { expect, test } from "vitest";
import { run, Tree } from "./tree.ts";

test("2.1 the root holds one slot", () => {
  expect(new Tree().headcount).toBe(1);
});

test("2.1 maxAgents 1 means no child at all", () => {
  const tree = new Tree({ maxAgents: 1 });
  expect(tree.admit("a", { priority: "critical" })).toEqual({
    kind: "denied",
    dimension: "agents",
    reason: "no-lower-priority",
    limit: 1,
    used: 1,
  });
  expect(tree.admit("a")).toMatchObject({ reason: "full" });
});

test("2.2 running, waiting and yielding runs hold a slot; pending and parked ones do not", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a", { priority: "low" });
  tree.admit("b");
  tree.wait("b", null);
  expect(tree.headcount).toBe(3);
  tree.admit("c", { priority: "high" });
  expect([tree.phase("a"), tree.phase("b"), tree.phase("c")]).toEqual(["yielding", "waiting", "pending"]);
  expect(tree.headcount).toBe(3);
  tree.apply("yield", "a");
  expect([tree.phase("a"), tree.phase("c")]).toEqual(["parked", "running"]);
  expect(tree.headcount).toBe(3);
});

test("2.3 with a free slot any priority is granted", () => {
  const tree = new Tree({ maxAgents: 6 });
  for (const priority of ["background", "low", "normal", "high", "critical"] as const) {
    expect(tree.admit(priority, { priority })).toEqual({ kind: "granted" });
  }
});

test("2.3 in a full tree normal priority and below is denied, or queued if the caller asked to wait", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "background" });
  expect(tree.admit("b")).toEqual({
    kind: "denied",
    reason: "full",
    dimension: "agents",
    limit: 2,
    used: 2,
  });
  expect(tree.state.slots[run("b")]).toBeUndefined();
  expect(tree.admit("b", { onFull: "wait" })).toEqual({ kind: "queued", victim: null });
  expect(tree.phase("b")).toBe("pending");
});

test("2.6 a free slot goes to the highest effective priority, then to the oldest, then to the one spawned first", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "critical" });
  tree.admit("old", { priority: "low", onFull: "wait" });
  tree.at += 10;
  tree.admit("first", { onFull: "wait" });
  tree.admit("second", { onFull: "wait" });
  tree.at += 10;
  tree.admit("late", { onFull: "wait" });
  const order = [];
  for (const name of ["a", "first", "second", "late"]) {
    tree.apply("release", name);
    order.push(tree.effects);
  }
  expect(order).toEqual(
    ["first", "second", "late", "old"].map((name) => [{ kind: "launch", run: run(name) }]),
  );
});

test("2.6 preempted and queued runs share one queue", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.admit("b", { priority: "high" });
  tree.apply("yield", "a");
  tree.at += 1;
  tree.admit("c", { onFull: "wait" });
  tree.apply("release", "b");
  expect(tree.effects).toEqual([{ kind: "resume", run: run("a") }]);
});

test("2.6 the order does not depend on how the state is stored", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.admit("b", { onFull: "wait" });
  tree.admit("c", { onFull: "wait" });
  const slots = Object.fromEntries(Object.entries(tree.state.slots).toReversed());
  tree.state = { ...tree.state, slots };
  tree.apply("release", "a");
  expect(tree.effects).toEqual([{ kind: "launch", run: run("b") }]);
});

test("2.6 a run spawned first but parked last comes after the others", () => {
  const tree = new Tree({ maxAgents: 3 });
  tree.admit("a");
  tree.admit("b", { priority: "high" });
  tree.admit("c", { onFull: "wait" });
  tree.at += 1;
  tree.admit("d", { priority: "high" });
  tree.apply("yield", "a");
  tree.apply("release", "b");
  expect(tree.effects).toEqual([{ kind: "launch", run: run("c") }]);
});

test("1.5 a waiter moves forward by one level for each interval, never above high", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "critical" });
  tree.admit("aged", { priority: "background", onFull: "wait" });
  tree.at += 600_000;
  tree.admit("high", { priority: "high", onFull: "wait" });
  tree.admit("critical", { priority: "critical", onFull: "wait" });
  const order = [];
  for (const name of ["a", "critical", "aged"]) {
    tree.apply("release", name);
    order.push(tree.effects[0]);
  }
  expect(order).toEqual(["critical", "aged", "high"].map((name) => ({ kind: "launch", run: run(name) })));
});

test("1.5 preemption looks at base priority only", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "low", onFull: "wait" });
  tree.at += 600_000;
  expect(tree.admit("c", { priority: "high" })).toMatchObject({ victim: run("a") });
  tree.apply("yield", "a");
  tree.at += 600_000;
  expect(tree.admit("d", { priority: "high" })).toMatchObject({ reason: "no-lower-priority" });
});

test("2.9 two high runs after a low one never hold three slots, as in the published counter-example", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  expect(tree.admit("c", { priority: "high" })).toMatchObject({
    kind: "denied",
    reason: "no-lower-priority",
  });
  expect(tree.headcount).toBe(2);
});

test("2.10 a release frees the slot once", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a");
  tree.apply("release", "a");
  const after = tree.state;
  tree.apply("release", "a");
  expect(tree.state).toBe(after);
  expect(tree.headcount).toBe(1);
});

test("asking for the same run again gives the same answer and changes nothing", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  const queued = tree.admit("b", { priority: "high" });
  const before = tree.state;
  expect(tree.admit("a")).toEqual({ kind: "granted" });
  expect(tree.admit("b")).toEqual(queued);
  expect(tree.state).toBe(before);
});
