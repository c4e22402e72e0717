import { Json, TopicId, TreeId, type NumberedEvent } from "#kernel";
import { expect, test } from "vitest";
import type { ProjectorOrder } from "../../src/tree/orders.ts";
import type { ReplyOf } from "../../src/tree/protocol.ts";
import { projectorType } from "../../src/tree/state/tree-work.ts";
import { LazyTree } from "./lazy-tree.ts";

const emit = (tree: LazyTree, data: string): void => {
  const message = {
    topic: TopicId.of("progress", TreeId.of("t")),
    data,
    messageId: Json.as<never>(tree.id()),
  };
  tree.call("emit", { ...tree.from(tree.root), ...message });
};

const eventsAfter = (tree: LazyTree, after: number): readonly NumberedEvent[] =>
  Json.as<{ events: NumberedEvent[] }>(tree.call("events", { after, limit: 256 }).result).events;

test("a call reads and writes as much after 15 long events as before them", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const before = tree.begin(tree.root);
  for (let number = 0; number < 15; number++) emit(tree, "x".repeat(100_000));
  const after = tree.begin(tree.root);
  expect(after.bytesRead).toBeLessThan(2 * before.bytesRead);
  expect(after.bytesWritten).toBeLessThan(2 * before.bytesWritten);
});

test("metadata of a tree is written once, when it opens", () => {
  const [small = 0, large = 0] = [10, 50_000].map((length) => {
    const tree = new LazyTree({ maxAgents: 2, metadata: { note: "x".repeat(length) } });
    return tree.begin(tree.root).bytesWritten;
  });
  expect(large).toBe(small);
});

test("events are read in order, from any place, in replies of a bounded size", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  for (let number = 0; number < 60; number++) emit(tree, "x".repeat(200_000));
  const { result } = tree.call("events", { after: 0, limit: 256 });
  const first = Json.as<{ events: NumberedEvent[]; more: boolean }>(result);
  expect(first.more).toBe(true);
  expect(JSON.stringify(result).length).toBeLessThan(5_000_000);
  const last = first.events.length;
  expect(first.events.map(({ seq }) => seq)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  expect(eventsAfter(tree, last)[0]?.seq).toBe(last + 1);
  expect(eventsAfter(tree, 60).map(({ seq }) => seq)).toEqual([61]);
});

test("the events of one call are one value, and can be read from any of them", () => {
  const tree = new LazyTree({ maxAgents: 101 });
  tree.spawn(100);
  const before = new Set(tree.object.keys("event/"));
  const from = eventsAfter(tree, 0).length;
  // Cancels 101 runs: more events than one value holds.
  tree.call("cancel", { run: tree.root, reason: "stop", at: 5 });
  const seqs = eventsAfter(tree, from).map(({ seq }) => seq);
  expect(tree.object.keys("event/").filter((key) => !before.has(key)).length).toBe(
    Math.ceil(seqs.length / 32),
  );
  expect(seqs.length).toBeGreaterThan(100);
  for (const after of [from, from + 1, from + 31, from + 32, from + 40, from + seqs.length - 1])
    expect(eventsAfter(tree, after).map(({ seq }) => seq)).toEqual(seqs.slice(after - from));
});

const ordersTo = (tree: LazyTree): readonly ProjectorOrder[] =>
  tree.object.sent
    .filter(({ to }) => to.type === projectorType)
    .map(({ argument }) => Json.as<ProjectorOrder>(argument));

test("events go to the projector along with their order, unless others went a moment before", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.drain();
  tree.object.sent.length = 0;
  tree.object.time += 1_000;
  emit(tree, "first");
  emit(tree, "second");
  emit(tree, "third");
  const [first, second, ...more] = ordersTo(tree);
  expect(first).toMatchObject({ kind: "events", confirm: false, batch: { events: [{ data: "first" }] } });
  expect(second).toMatchObject({ kind: "write" });
  expect(more).toEqual([]);
  const { result } = tree.call("drain", { after: 0, limit: 256, at: 1 });
  expect(Json.as<ReplyOf<"drain">>(result).events).toMatchObject([{ data: "second" }, { data: "third" }]);
  expect(tree.call("drain", { after: 0, limit: 256, at: 1 }).result).toMatchObject({ events: [] });
});

test("the projector says that batches are stored before it gets more than 16 of them", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.drain();
  tree.object.sent.length = 0;
  for (let number = 1; number <= 20; number++) {
    tree.object.time += 1_000;
    emit(tree, `${number}`);
  }
  const orders = ordersTo(tree);
  expect(orders.map((order) => order.kind === "events" && order.confirm)).toEqual([
    ...Array.from({ length: 15 }, () => false),
    true,
  ]);
  tree.object.time += 1_000;
  tree.call("projected", { at: 1 });
  expect(ordersTo(tree).slice(16)).toMatchObject([{ kind: "write" }]);
});

test("a denied attempt that asks again is reported once", () => {
  const tree = new LazyTree({ maxAgents: 2, budget: { maxTokens: 5 } });
  tree.begin(tree.root, "attempt");
  tree.begin(tree.root, "attempt");
  tree.begin(tree.root, "another");
  const denied = eventsAfter(tree, 0).filter(({ type }) => type === "budget.denied");
  expect(denied.map(({ attempt }) => attempt)).toEqual(["attempt", "another"]);
});

test.each([true, false])("a tree of 1,000 runs is erased in parts of 256; with a store: %s", (projects) => {
  const tree = new LazyTree({ maxAgents: 3, projects });
  for (let number = 1; number <= 1_000; number++) {
    tree.spawn(1);
    tree.end(tree.child(number), "confidential");
  }
  emit(tree, "confidential");
  tree.end(tree.root);
  tree.drain();
  const erasing = [tree.call("erase", { at: 100_000 })];
  for (let sent = tree.takeSent("erase"); sent; sent = tree.takeSent("erase")) {
    erasing.push(tree.call("erase", Json.as(sent)));
  }
  expect(Math.max(...erasing.map(({ tries }) => tries))).toBeLessThanOrEqual(4);
  const secrets = [...tree.object.state.entries()].filter(([, value]) => value.includes("confidential"));
  // The root is permanent, so a tree without a store keeps the root's messages.
  expect(secrets.map(([key]) => key.split("/")[0])).toEqual(projects ? [] : ["event"]);
  expect(tree.object.keys("event/").length > 0).toBe(!projects);
  expect(tree.call("result", { run: tree.child(1) }).result).toMatchObject({ output: null, erased: true });
});

test("only events that the store has are erased", () => {
  const tree = new LazyTree({ maxAgents: 1 });
  tree.end(tree.root);
  const before = tree.object.keys("");
  expect(tree.call("erase", { at: 100_000 }).result).toEqual({ unwritten: true });
  expect(tree.object.keys("")).toEqual(before);
  tree.drain();
  expect(tree.call("erase", { at: 100_000 }).result).toEqual({ unwritten: false });
});

test("an erased tree of 1,000 runs keeps few values, including how each run ended", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  let cancel = 0;
  for (let number = 1; number <= 1_000; number++) {
    tree.spawn(1);
    if (number === 1_000)
      cancel = Number(tree.call("cancel", { run: tree.child(number), reason: "enough", at: 3 }).result);
    tree.end(tree.child(number), "confidential");
  }
  tree.end(tree.root, "x".repeat(10_000));
  tree.drain();
  tree.call("erase", { at: 100_000 });
  for (let sent = tree.takeSent("erase"); sent; sent = tree.takeSent("erase"))
    tree.call("erase", Json.as(sent));
  expect(tree.object.keys("seen/")).toEqual([]);
  // Four pages, and the root's own record, whose permanent output is long.
  expect(tree.object.keys("ended/")).toHaveLength(5);
  expect(tree.object.state.size).toBeLessThan(12);
  const resultOf = (number: number): Json => tree.call("result", { run: tree.child(number) }).result;
  expect(resultOf(0)).toMatchObject({ status: "completed", output: "x".repeat(10_000) });
  expect(resultOf(999)).toMatchObject({ status: "completed", output: null, erased: true });
  expect(tree.call("status", { run: tree.child(1_000) }).result).toBe("cancelled");
  expect(() => resultOf(1_001)).toThrow("no run t~1001");
  const receipt = tree.call("receipt", { number: cancel }).result;
  expect(receipt).toMatchObject({ reason: "enough", runs: [{ runId: tree.child(1_000) }] });
});
