import { Json } from "#kernel";
import { expect, test } from "vitest";
import type { ReplyOf } from "../../src/tree/protocol.ts";
import { maxHeldEvents } from "../../src/tree/state/trim-events.ts";
import { TalkingTree } from "./talking-tree.ts";

const numbersTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

test("a live tree keeps few of the events that the store has, and the store gets each of them", () => {
  const tree = new TalkingTree();
  for (let round = 0; round < 10; round++) {
    tree.talk(300);
    tree.store();
    expect(tree.held).toBeLessThan(maxHeldEvents + 300);
  }
  expect(tree.stored).toEqual(numbersTo(tree.stored.length));
  expect(tree.stored.length).toBeGreaterThan(3_000);
  const { result } = tree.call("events", { after: 0, limit: 10_000 });
  const { events, more } = Json.as<ReplyOf<"events">>(result);
  expect(more).toBe(false);
  expect(events.map(({ seq }) => seq)).toEqual(tree.stored.slice(-events.length));
});

test("a live tree keeps every event that the store lacks", () => {
  const tree = new TalkingTree();
  tree.talk(2 * maxHeldEvents);
  expect(tree.held).toBeGreaterThan(2 * maxHeldEvents);
  // What the projector was given is not stored before it asks again.
  tree.call("drain", { after: 0, limit: 10_000, at: 9 });
  expect(tree.held).toBeGreaterThan(2 * maxHeldEvents);
  tree.call("drain", { after: 0, limit: 10_000, at: 9 });
  expect(tree.held).toBeLessThan(10);
});

test("a confirmation that batches are stored has the same effect", () => {
  const tree = new TalkingTree();
  tree.talk(2 * maxHeldEvents);
  tree.call("drain", { after: 0, limit: 10_000, at: 9 });
  tree.call("projected", { at: 9 });
  expect(tree.held).toBeLessThan(10);
});

test("hooks get the events of their run, though the tree has removed all others of that time", () => {
  const tree = new TalkingTree({ hasHooks: true });
  tree.callFromRoot();
  const pause = (): void => void tree.call("pause", { run: tree.root, at: 5, operationId: tree.id() });
  const resume = (): void => void tree.call("resume", { run: tree.root, at: 5, operationId: tree.id() });
  pause();
  for (let round = 0; round < 3; round++) {
    tree.talk(2 * maxHeldEvents);
    tree.store();
    tree.store();
  }
  expect(tree.held).toBeLessThan(maxHeldEvents);
  resume();
  const types = tree.callFromRoot().map(({ type }) => type);
  expect(types).toContain("run.paused");
  // Once they are told, the next round removes them.
  const before = tree.object.state.get("event-left");
  tree.talk(2 * maxHeldEvents);
  tree.store();
  tree.store();
  expect([before, tree.object.state.get("event-left")]).toEqual([expect.stringMatching(/^\[\d/), undefined]);
});

test("an ended tree leaves no event when it is erased", () => {
  const tree = new TalkingTree({ hasHooks: true });
  tree.call("pause", { run: tree.root, at: 5, operationId: tree.id() });
  tree.talk(2 * maxHeldEvents);
  tree.store();
  tree.store();
  tree.end(tree.child(1));
  tree.end(tree.root);
  tree.store();
  tree.call("erase", { at: 100_000 });
  for (let sent = tree.takeSent("erase"); sent; sent = tree.takeSent("erase"))
    tree.call("erase", Json.as(sent));
  expect(tree.object.keys("event")).toEqual([]);
});
