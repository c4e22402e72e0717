import { ApprovalId, MessageId, StepId, type Json, type RunId } from "#kernel";
import { expect, test } from "vitest";
import { LazyTree } from "./lazy-tree.ts";

const timeoutMs = 10_000;
const ask = MessageId.of("question");

/** A root whose child has a question of it, at 1,000. */
function askedTree(): {
  readonly tree: LazyTree;
  readonly child: RunId;
  readonly giveUp: (at: number) => Json;
} {
  const tree = new LazyTree({ maxAgents: 4 });
  const child = tree.spawnChild(tree.root);
  tree.object.time = 1_000;
  const from = { kind: "run", runId: tree.root, agentId: tree.opening.agentId } as const;
  tree.call("send", { to: child, messageId: ask, from, text: "?", askedBy: tree.root, at: 5 });
  const giveUp = (at: number): Json => {
    tree.object.time = at;
    return tree.call("abandonAsk", { run: tree.root, ask, timeoutMs, at: 5 }).result;
  };
  return { tree, child, giveUp };
}

/** The run has requested an approval and waits for it. */
function waitForPerson(tree: LazyTree, run: RunId, at: number): void {
  tree.object.time = at;
  const approval = {
    id: ApprovalId.of(StepId.of(run, "tool", 1), 0),
    tool: "pay",
    risk: "high",
    arguments: {},
    hash: "hash",
    why: "risk",
    expiresAt: 600_000,
  } as const;
  tree.call("requestApproval", { ...tree.from(run), approval });
  // Its question came before.
  tree.call("take", { ...tree.from(run) });
  tree.call("wait", { ...tree.from(run), on: null });
}

const wakesOf = (tree: LazyTree, run: RunId): Json => {
  const { result } = tree.call("take", tree.from(run));
  return Object(Object(result).reply).items;
};

test("an ask ends once its time is over", () => {
  const { tree, giveUp } = askedTree();
  expect([giveUp(10_999), giveUp(11_000), tree.readStored(`asks/${tree.root}`)]).toEqual([1, 0, null]);
});

test("an ask that is over, or was answered, has no time left", () => {
  const { tree, child, giveUp } = askedTree();
  tree.call("reply", { ...tree.from(child), ask, to: tree.root, text: "yes" });
  expect(giveUp(1_001)).toBe(0);
});

test("while the asked run waits for a person, the time of an ask stands still, and its asker hears when it counts again", () => {
  const { tree, child, giveUp } = askedTree();
  waitForPerson(tree, child, 4_000);
  expect(giveUp(11_000)).toBeNull();
  // A repeated call has no other effect.
  expect(giveUp(500_000)).toBeNull();
  expect(wakesOf(tree, tree.root)).toEqual([]);
  tree.object.time = 504_000;
  tree.call("take", tree.from(child));
  expect(wakesOf(tree, tree.root)).toEqual([{ kind: "askGoesOn", ask, leftMs: 7_000 }]);
  expect(tree.readStored(`late-asks/${child}`)).toBeNull();
  expect([giveUp(510_999), giveUp(511_000)]).toEqual([1, 0]);
});

test("an ask that was given up while the asked run stood still is not told of", () => {
  const { tree, child, giveUp } = askedTree();
  waitForPerson(tree, child, 4_000);
  giveUp(20_000);
  tree.call("abandonAsk", { run: tree.root, ask, at: 5 });
  tree.call("take", tree.from(child));
  expect(wakesOf(tree, tree.root)).toEqual([]);
});

test("the late asks of a run are forgotten when it ends", () => {
  const { tree, child, giveUp } = askedTree();
  waitForPerson(tree, child, 4_000);
  giveUp(20_000);
  tree.end(child);
  expect(tree.readStored(`late-asks/${child}`)).toBeNull();
});

test("a run that waits for a child stands still while the child does", () => {
  const { tree, child, giveUp } = askedTree();
  const grandchild = tree.spawnChild(child);
  tree.call("take", tree.from(child));
  tree.call("wait", { ...tree.from(child), on: [grandchild] });
  expect(giveUp(3_000)).toBe(8_000);
  waitForPerson(tree, grandchild, 4_000);
  expect(giveUp(11_000)).toBeNull();
});

test("time before the worker was hosted, after the tree's last call, is not time of an ask", () => {
  const { tree, giveUp } = askedTree();
  tree.object.hostedSince = 61_000;
  expect([giveUp(62_000), giveUp(63_000)]).toEqual([9_000, 8_000]);
  // A second worker that has served for longer.
  tree.object.hostedSince = 0;
  expect([giveUp(70_999), giveUp(71_000)]).toEqual([1, 0]);
});
