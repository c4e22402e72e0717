import { Json, Labels, type RunId } from "#kernel";
import { expect, test } from "vitest";
import type { LaunchInput, InboxBatch, ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import type { Cost } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";

/** A parent that waits for so many children. It was started with one item, its input. */
function waitingParent(children: number, maxAgents = children + 1): LazyTree {
  const tree = new LazyTree({ maxAgents });
  tree.spawn(children);
  tree.call("wait", { ...tree.from(tree.root), on: null });
  return tree;
}

const replyOf = (cost: Cost): InboxBatch => Json.as<RunReply<ReplyOf<"take">>>(cost.result).reply;

/** The children of whose ends items tell. */
const childrenOf = (items: InboxBatch["items"]): readonly RunId[] =>
  items.flatMap((item) => (item.kind === "ended" ? [item.run] : []));

/** Each wake-up of the root by its name, with the children of whose ends it tells; null if it brings nothing. */
const wakeUps = (tree: LazyTree): readonly (readonly [string, readonly RunId[] | null])[] =>
  tree.object.woken
    .filter(({ execution }) => execution === tree.run(tree.root)?.execution)
    .map(({ name, value }) => [name, value === null ? null : childrenOf(Json.as<InboxBatch>(value).items)]);

const countKeptItems = (tree: LazyTree): number => tree.object.keys(`inbox/${tree.root}/told/`).length;

test("each end of a child comes with a wake-up, and is kept until the parent says that it has it", () => {
  const tree = waitingParent(3);
  const [first, second, third] = [tree.child(1), tree.child(2), tree.child(3)];
  tree.end(first);
  tree.end(second);
  expect(wakeUps(tree)).toEqual([
    ["inbox/1", [first]],
    ["inbox/2", [second]],
  ]);
  expect(countKeptItems(tree)).toBe(2);
  // The parent has its input and the first end: the answer brings the second once more.
  const taken = replyOf(tree.call("take", { ...tree.from(tree.root), cursor: 2 }));
  expect(taken).toMatchObject({ cursor: 3, more: false, slotState: "running" });
  expect(childrenOf(taken.items)).toEqual([second]);
  expect(countKeptItems(tree)).toBe(0);
  tree.end(third);
  expect(wakeUps(tree).at(-1)).toEqual(["inbox/3", [third]]);
});

test("a call that crosses a wake-up brings the same item again, under the same number", () => {
  const tree = waitingParent(1);
  tree.end(tree.child(1));
  const taken = replyOf(tree.call("take", { ...tree.from(tree.root), cursor: 1 }));
  expect(childrenOf(taken.items)).toEqual([tree.child(1)]);
  expect(taken.cursor).toBe(2);
  // Made again by an execution that was lost: the tree tells nothing more.
  expect(replyOf(tree.call("take", { ...tree.from(tree.root), cursor: 1 })).items).toEqual([]);
});

test("a continuation begins with the items of wake-ups that the parent does not have", () => {
  const tree = waitingParent(2);
  tree.end(tree.child(1));
  tree.end(tree.child(2));
  const carried = { labels: Labels.none, tasks: [], notes: [] };
  tree.call("continue", { ...tree.from(tree.root), cursor: 2, unread: [], state: null, carried });
  expect(countKeptItems(tree)).toBe(0);
  const { inbox: news } = Json.as<LaunchInput>(tree.object.launched.at(-1)?.input ?? null);
  expect(childrenOf(news.items)).toEqual([tree.child(2)]);
});

test("a parent that has not called for 32 ends is woken to take them", () => {
  const tree = waitingParent(34);
  for (let number = 1; number <= 34; number++) tree.end(tree.child(number));
  const names = wakeUps(tree).filter(([, ends]) => ends === null);
  expect(names).toEqual([["inbox/33", null]]);
  expect(childrenOf(replyOf(tree.call("take", { ...tree.from(tree.root), cursor: 33 })).items)).toHaveLength(
    2,
  );
});

test("at most 32 parents get their items at once without a call: the next is woken to take", () => {
  const tree = new LazyTree({ maxAgents: 67 });
  const parents = Array.from({ length: 33 }, () => tree.spawnChild(tree.root));
  const children = parents.map((parent) => tree.spawnChild(parent));
  for (const parent of parents) tree.call("wait", { ...tree.from(parent), on: null });
  for (const child of children) tree.end(child);
  expect(tree.object.woken.map(({ value }) => value === null)).toEqual([...Array(32).fill(false), true]);
});

test("while a run is queued, ends are taken, and a parent that has items already is woken", () => {
  const tree = waitingParent(3, 4);
  tree.end(tree.child(1));
  expect(tree.readStored("tree")).toMatchObject({ silent: [tree.root] });
  tree.spawn(2, tree.child(2), "wait");
  expect(wakeUps(tree)).toEqual([
    ["inbox/1", [tree.child(1)]],
    ["inbox/2", null],
  ]);
  expect(tree.readStored("tree")).not.toMatchObject({ silent: [tree.root] });
});

test("a run that is demoted stands in line, too: a parent that has items already is woken", () => {
  const tree = waitingParent(3, 3);
  tree.end(tree.child(1));
  tree.spawn(1, tree.child(2));
  expect(tree.readStored("tree")).toMatchObject({ silent: [tree.root] });
  tree.call("reprioritize", { ...tree.from(tree.child(2)), operationId: "demote", priority: "low" });
  expect(wakeUps(tree).at(-1)).toEqual(["inbox/2", null]);
  expect(tree.readStored("tree")).toMatchObject({ silent: [] });
});

test("the items of a parent are removed when it ends", () => {
  const tree = waitingParent(2);
  tree.end(tree.child(1));
  tree.end(tree.root);
  expect(countKeptItems(tree)).toBe(0);
  expect(tree.readStored("tree")).toMatchObject({ silent: [] });
});
