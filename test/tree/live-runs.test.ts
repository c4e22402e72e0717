import { AgentId, AttemptId, Json, MessageId, RunId } from "#kernel";
import type { ReplyOf } from "../../src/tree/protocol.ts";
import { beforeAll, describe, expect, test } from "vitest";
import type { Cost } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";

/** The largest change of a list in pages, and the rest of a call. */
const maxBytesWritten = 12_000;

const treeWith = (children: number): LazyTree => {
  const tree = new LazyTree({ maxAgents: children + 1 });
  tree.spawn(children);
  return tree;
};

/** The cost of a call of one run beside so many live runs. */
function costsBeside(children: number): Record<"begin" | "wait" | "take" | "spawn" | "end", Cost> {
  const tree = treeWith(children);
  const run = tree.child(1);
  tree.begin(run);
  // The parent waits for all of them.
  const all = Array.from({ length: children }, (_, index) => tree.child(index + 1));
  tree.call("wait", { ...tree.from(tree.root), on: all });
  const begin = tree.begin(run);
  const wait = tree.call("wait", { ...tree.from(run), on: null });
  const take = tree.call("take", tree.from(run));
  const end = tree.end(run);
  const [spawn] = tree.spawn(1);
  if (!spawn) throw new Error("nothing was spawned");
  return { begin, wait, take, spawn, end };
}

describe("among many live runs", () => {
  const costs = new Map<number, ReturnType<typeof costsBeside>>();
  const costOf = (children: number) => costs.get(children) ?? costsBeside(0);
  beforeAll(() => {
    for (const children of [1, 500, 2_000]) costs.set(children, costsBeside(children));
  });

  test.each([500, 2_000])("a call passes the gate with the same bytes among %d runs", (children) => {
    expect(costOf(children).begin.bytesRead / costOf(1).begin.bytesRead).toBeLessThanOrEqual(1.3);
    expect(costOf(children).begin.bytesWritten / costOf(1).begin.bytesWritten).toBeLessThanOrEqual(1.3);
    expect(costOf(children).begin.tries).toBe(costOf(1).begin.tries);
  });

  test.each(["wait", "take"] as const)("%s moves the same bytes", (method) => {
    const [few, many] = [costOf(1)[method], costOf(2_000)[method]];
    expect(many.bytesRead / few.bytesRead).toBeLessThanOrEqual(1.3);
    expect(many.bytesWritten / few.bytesWritten).toBeLessThanOrEqual(1.3);
  });

  test.each(["spawn", "end"] as const)("%s writes a bounded part of the tree", (method) => {
    expect(costOf(2_000)[method].bytesWritten).toBeLessThan(maxBytesWritten);
    expect(costOf(2_000)[method].bytesRead).toBeLessThan(3 * maxBytesWritten);
  });
});

test("a call that waits for money beside 2,000 others, and a settlement, move a bounded part of the line", () => {
  // Room for one call at a time.
  const tree = new LazyTree({ maxAgents: 2_003, budget: { maxTokens: 30 } });
  tree.spawn(2_002);
  const wait = (number: number): Cost => tree.begin(tree.child(number), undefined, { waitsSince: null });
  tree.begin(tree.child(1), "first", { waitsSince: null });
  const few = wait(2);
  for (let number = 3; number <= 2_000; number += 1) wait(number);
  const many = wait(2_001);
  const settle = { attempt: AttemptId.of("first"), usage: { input: 1, output: 1 } };
  const settled = tree.call("wait", {
    ...tree.from(tree.child(1)),
    reports: [{ number: 1, settle }],
    on: null,
  });
  // The call that has waited longest has its money.
  expect(tree.call("ledger", { run: tree.child(2) }).result).toMatchObject({
    run: { account: { attempts: [{ isUnused: true }], waiting: [] } },
  });
  expect(many.bytesRead).toBeLessThan(few.bytesRead + 3 * maxBytesWritten);
  expect(settled.bytesRead).toBeLessThan(few.bytesRead + 5 * maxBytesWritten);
  for (const { bytesWritten } of [many, settled]) expect(bytesWritten).toBeLessThan(3 * maxBytesWritten);
});

test("a run that ends while 2,000 wait for its slot moves a bounded part of the line", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawn(2);
  tree.queue(2_000);
  const { bytesRead, bytesWritten } = tree.end(tree.child(1));
  expect(bytesRead).toBeLessThan(3 * maxBytesWritten);
  expect(bytesWritten).toBeLessThan(2 * maxBytesWritten);
  expect(tree.call("status", { run: tree.child(3) }).result).toBe("running");
  expect(tree.call("status", { run: tree.child(4) }).result).toBe("pending");
});

test("a run that preempts one of 1,000 reads their list, and not their slots", () => {
  const tree = treeWith(1_000);
  const { bytesRead, tries, result } = tree.preempt();
  expect(result).toMatchObject({ reply: { run: tree.child(1_001) } });
  const { events } = Json.as<ReplyOf<"events">>(tree.call("events", { after: 0, limit: 10_000 }).result);
  expect(events.at(-1)).toMatchObject({ type: "spawn.queued", victim: tree.child(1_000) });
  expect(bytesRead).toBeLessThan(60_000);
  expect(tries).toBeLessThanOrEqual(10);
});

const sendTo = (tree: LazyTree, agent: string): Cost =>
  tree.call("send", {
    to: AgentId.of(agent),
    messageId: MessageId.of(tree.id()),
    from: { kind: "outside", name: "user" },
    text: "x",
    at: 5,
  });

test("a message to an agent loads the records that it needs", () => {
  const [few, many] = [10, 1_000].map((children) => sendTo(treeWith(children), "child").bytesRead);
  expect((many ?? 0) / (few ?? 1)).toBeLessThan(3);
});

test("a message to an agent reaches its oldest run that lives and is not cancelled", () => {
  const tree = treeWith(200);
  tree.end(tree.child(1));
  tree.call("cancel", { run: tree.child(2), reason: "enough", at: 3 });
  expect(sendTo(tree, "child").result).toEqual({ to: tree.child(3) });
  expect(sendTo(tree, "parent").result).toEqual({ to: tree.root });
});

test("runs that were spawned far apart are all found when their parent is cancelled", () => {
  const tree = new LazyTree({ maxAgents: 400 });
  tree.spawn(300);
  tree.spawn(2, tree.child(300));
  for (let number = 2; number < 300; number++) tree.end(tree.child(number));
  const { live } = Json.as<{ live: readonly RunId[] }>(tree.call("ledger", { run: tree.root }).result);
  expect(live.map(RunId.number)).toEqual([0, 1, 300, 301, 302]);
  tree.call("cancel", { run: tree.child(300), reason: "enough", at: 3 });
  expect(tree.begin(tree.child(302)).result).toMatchObject({
    reply: { gate: { kind: "refused", why: "cancelled" } },
  });
  expect(tree.begin(tree.child(1)).result).toMatchObject({ reply: { gate: { kind: "granted" } } });
});

test("a tree that is over has no slot, no line and no list of runs left", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawn(2);
  tree.queue(100);
  tree.call("wait", { ...tree.from(tree.root), on: [tree.child(1)] });
  tree.end(tree.root);
  tree.end(tree.child(1));
  tree.end(tree.child(2));
  for (const prefix of ["slot/", "line/", "live", "waits/"]) expect(tree.object.keys(prefix)).toEqual([]);
});
