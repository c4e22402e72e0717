import { Json, MessageId, RunId, TopicId, TreeId, type Envelope } from "#kernel";
import { expect, test } from "vitest";
import type { InboxBatch } from "../../src/tree/protocol.ts";
import { defaultBacklogs } from "../../src/tree/state/backlogs.ts";
import type { TreeDeps } from "../../src/tree/state/records.ts";
import type { Cost } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";

/** As long as tree ids are. */
const treeId = TreeId.of("0".repeat(36));
const topic = TopicId.of("news", treeId);

/** Returns the name of a run's subscription, with the usual length. */
const nameOf = (run: RunId): string => `of ${RunId.number(run)}`.padEnd(36, "0");

/** A tree whose root publishes to a topic, and whose children subscribe to it. */
class TalkingTree extends LazyTree {
  /** The messages that each run got over topics. */
  readonly heard = new Map<RunId, Json[]>();
  /** The place of each run in its inbox. */
  readonly #taken = new Map<RunId, number>();

  subscribe(run: RunId, on = true): Cost {
    return this.call("subscribe", { run, topic, subscription: nameOf(run), on, at: 3 });
  }

  tell(data: Json, from = this.root): Cost {
    const messageId = MessageId.of(this.id().padEnd(36, "0"));
    return this.call("emit", { ...this.from(from), topic, data, messageId });
  }

  /** Takes once, as a run does. `unread`: the messages that it has taken before and not read. */
  take(run: RunId, unread = 0): InboxBatch {
    const backlog = { topics: { [topic]: { messages: unread, characters: 100 * unread } } };
    const from = { ...this.from(run), cursor: this.#taken.get(run) ?? 1, ...(unread > 0 && { backlog }) };
    const { result } = this.call("take", from);
    const { reply } = Json.as<{ readonly reply: InboxBatch }>(result);
    const heard = this.heard.get(run) ?? [];
    for (const item of reply.items) if (item.kind === "topic") heard.push(item.envelope.data ?? null);
    this.heard.set(run, heard);
    this.#taken.set(run, reply.cursor);
    return reply;
  }

  takeAll(run: RunId): void {
    while (this.take(run).more);
  }

  /** The messages of topics that the tree has stored. */
  get messages(): readonly Json[] {
    const numbers = this.object
      .keys("told/")
      .map((key) => Number(key.split("/")[1]))
      .toSorted((one, other) => one - other);
    return numbers.map((number) => Object(this.readStored(`told/${number}/${topic}`)).data);
  }

  bytes(isCounted: (key: string) => boolean = () => true): number {
    const sizes = [...this.object.state].map(([key, text]) =>
      isCounted(key) ? key.length + text.length : 0,
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }
}

const treeOf = (children: number, subscribe = true, deps: Partial<TreeDeps> = {}): TalkingTree => {
  const tree = new TalkingTree({ treeId, maxAgents: children + 1, deps });
  tree.spawn(children);
  if (subscribe) for (let number = 1; number <= children; number++) tree.subscribe(tree.child(number));
  return tree;
};

const text = "x".repeat(100);

const isNoEvent = (key: string): boolean => !key.startsWith("event/");

const bytesMoved = ({ bytesRead, bytesWritten }: Cost): number => bytesRead + bytesWritten;

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number);

test("100 messages for 1,000 subscribers that have taken none add less than 200 kB to a tree of less than 1 MB", () => {
  const tree = treeOf(1_000, false);
  const before = tree.bytes(isNoEvent);
  for (let number = 1; number <= 1_000; number++) tree.subscribe(tree.child(number));
  for (const number of numbers(100)) tree.tell({ number, text });
  expect(tree.messages).toHaveLength(100);
  expect(tree.bytes(isNoEvent) - before).toBeLessThan(200_000);
  expect(tree.bytes(isNoEvent)).toBeLessThan(1_000_000);
  const told = numbers(100).map((number) => ({ number, text }));
  for (const child of [1, 500, 1_000]) {
    tree.takeAll(tree.child(child));
    expect(tree.heard.get(tree.child(child))).toEqual(told);
  }
});

test("a message is removed when the last subscriber has taken it", () => {
  const tree = treeOf(2);
  tree.tell("a");
  tree.take(tree.child(1));
  tree.tell("b");
  expect(tree.messages).toEqual(["a", "b"]);
  tree.take(tree.child(2));
  expect(tree.messages).toEqual(["b"]);
  tree.take(tree.child(1));
  expect(tree.messages).toEqual([]);
  expect([...tree.heard.values()]).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
});

test("a message without a subscriber is not stored", () => {
  const tree = treeOf(1, false);
  tree.tell("a");
  tree.subscribe(tree.child(1));
  tree.subscribe(tree.child(1), false);
  tree.tell("b");
  expect(tree.messages).toEqual([]);
  expect(tree.object.keys("topic/")).toEqual([]);
});

test.each([
  ["ends", (tree: TalkingTree) => tree.end(tree.child(1))],
  ["fails", (tree: TalkingTree) => tree.end(tree.child(1), null, { status: "failed", stopReason: "error" })],
  ["ends its subscription", (tree: TalkingTree) => tree.subscribe(tree.child(1), false)],
  [
    "is cancelled, and ends",
    (tree: TalkingTree) => {
      tree.call("cancel", { run: tree.child(1), reason: "enough", at: 5 });
      expect(tree.messages).toEqual(["a", "b"]);
      return tree.end(tree.child(1), null, { status: "cancelled", stopReason: "cancelled" });
    },
  ],
  [
    "is paused, cancelled, and ended by the tree",
    (tree: TalkingTree) => {
      tree.call("pause", { run: tree.child(1), operationId: "1", at: 5 });
      const { result } = tree.call("cancel", { run: tree.child(1), reason: "enough", at: 5 });
      return tree.call("cancelOverdue", { number: Number(result), at: 6 });
    },
  ],
])("the messages that only one subscriber has not taken are removed when it %s", (_, leave) => {
  const tree = treeOf(2);
  tree.tell("a");
  tree.tell("b");
  tree.take(tree.child(2));
  expect(tree.messages).toEqual(["a", "b"]);
  leave(tree);
  expect(tree.messages).toEqual([]);
  tree.tell("c");
  tree.take(tree.child(2));
  expect(tree.heard.get(tree.child(2))).toEqual(["a", "b", "c"]);
  expect(tree.messages).toEqual([]);
});

test("a paused subscriber keeps its messages, and gets them all when it goes on", () => {
  const tree = treeOf(2);
  tree.call("pause", { run: tree.child(1), operationId: "1", at: 5 });
  for (const number of numbers(40)) {
    tree.tell(number);
    tree.take(tree.child(2));
  }
  expect(tree.messages).toEqual(numbers(40));
  tree.call("resume", { run: tree.child(1), operationId: "2", at: 6 });
  tree.takeAll(tree.child(1));
  expect(tree.heard.get(tree.child(1))).toEqual(numbers(40));
  expect(tree.messages).toEqual([]);
});

test("a message is refused by what a subscriber has taken and not read, also while there is more to take", () => {
  const backlogs = { ...defaultBacklogs, topicMessages: 40 };
  const tree = treeOf(2, true, { backlogs });
  const [slow, fast] = [tree.child(1), tree.child(2)];
  const isRefused = (): boolean => Object(Object(tree.tell("x").result).reply).error !== undefined;
  for (const _ of numbers(31)) tree.tell("x");
  tree.take(slow);
  for (const _ of numbers(2)) tree.tell("x");
  expect(tree.take(slow, 31).more).toBe(false);
  // It has said that 31 are unread, so nine more find room.
  const accepted = numbers(20).map(() => {
    tree.takeAll(fast);
    return !isRefused();
  });
  expect(accepted).toEqual(numbers(20).map((number) => number < 40 - 31));
  tree.takeAll(slow);
  expect(isRefused()).toBe(false);
});

test("one take has at most 32 messages, and later messages stay in order", () => {
  const tree = treeOf(1);
  const run = tree.child(1);
  for (const number of numbers(50)) tree.tell(number);
  tree.send(run, "how many?");
  const first = tree.take(run);
  expect([first.items.length, first.more, first.items.every(({ kind }) => kind === "topic")]).toEqual([
    32,
    true,
    true,
  ]);
  const second = tree.take(run);
  expect(second.items.map(({ kind }) => kind).slice(-2)).toEqual(["topic", "message"]);
  expect(second.cursor - first.cursor).toBe(second.items.length);
  expect(second.more).toBe(false);
  expect(tree.heard.get(run)).toEqual(numbers(50));
});

test("a run with two subscriptions to a topic gets each message once for each, and one wake-up for both", () => {
  const tree = treeOf(1);
  const run = tree.child(1);
  tree.call("subscribe", { run, topic, subscription: "second", on: true, at: 3 });
  for (const number of numbers(20)) tree.tell(number);
  const bySubscription = Map.groupBy(
    [...tree.take(run).items, ...tree.take(run).items].filter((item) => item.kind === "topic"),
    ({ subscription }) => subscription,
  );
  for (const name of [nameOf(run), "second"])
    expect(bySubscription.get(name)?.map(({ envelope }) => envelope.data)).toEqual(numbers(20));
  expect(tree.take(run).items).toEqual([]);
  expect(tree.messages).toEqual([]);
});

test("a subscription that is left when another one of its run has ended gets the next message", () => {
  const tree = treeOf(1);
  const run = tree.child(1);
  tree.tell("a");
  tree.call("subscribe", { run, topic, subscription: "second", on: true, at: 3 });
  tree.subscribe(run, false);
  tree.tell("b");
  tree.takeAll(run);
  expect(tree.heard.get(run)).toEqual(["b"]);
  expect(tree.messages).toEqual([]);
});

test("long messages are taken a few at a time", () => {
  const tree = treeOf(1);
  for (const number of numbers(6)) tree.tell({ number, text: "x".repeat(20_000) });
  expect(tree.take(tree.child(1)).items).toHaveLength(2);
  tree.takeAll(tree.child(1));
  expect(tree.heard.get(tree.child(1))).toHaveLength(6);
});

test("a run that was woken for a subscription which it has ended is given an item that counts, and no message", () => {
  const tree = treeOf(1);
  const { cursor } = tree.take(tree.child(1));
  tree.tell("a");
  tree.subscribe(tree.child(1), false);
  const news = tree.take(tree.child(1));
  expect([news.items, news.cursor]).toEqual([[{ kind: "resume" }], cursor + 1]);
});

test("subscriptions and messages that an earlier release has stored are read", () => {
  const tree = treeOf(3, false);
  const old = [1, 2].map((number) => ({ run: tree.child(number), subscription: nameOf(tree.child(number)) }));
  tree.object.state.set(`topic/${topic}`, JSON.stringify(old));
  const record = tree.run(tree.child(1));
  const from = { kind: "run", runId: tree.root, agentId: "parent" };
  const envelope = Json.as<Envelope>({ id: "old", from, text: "", data: "before", topic, at: 2 });
  const items = [{ kind: "topic", subscription: nameOf(tree.child(1)), envelope }];
  const inbox = { ...record?.inbox, items, woken: true };
  tree.object.state.set(`run/${tree.child(1)}`, JSON.stringify({ ...record, inbox }));
  tree.subscribe(tree.child(3));
  tree.tell("after");
  for (const child of [1, 2, 3]) tree.takeAll(tree.child(child));
  expect(tree.heard).toEqual(
    new Map([
      [tree.child(1), ["before", "after"]],
      [tree.child(2), ["after"]],
      [tree.child(3), ["after"]],
    ]),
  );
  expect(tree.messages).toEqual([]);
});

test("the cost of a message does not depend on the number of unread messages", () => {
  const tree = treeOf(100);
  tree.tell("first");
  const second = bytesMoved(tree.tell("second"));
  for (const number of numbers(100)) tree.tell(number);
  expect(bytesMoved(tree.tell("last")) / second).toBeLessThan(1.2);
  expect(second).toBeLessThan(10_000);
});

test("a subscription and a take cost the same, however many runs subscribe", () => {
  const costs = [20, 400].map((children) => {
    const tree = treeOf(children);
    const last = tree.child(children);
    tree.subscribe(last, false);
    const subscribe = tree.subscribe(last);
    tree.tell("a");
    const take = tree.call("take", tree.from(last));
    expect(take.tries).toBeLessThanOrEqual(4);
    return [bytesMoved(subscribe), bytesMoved(take)];
  });
  const [[subscribe = 0, take = 0] = [], [laterSubscribe = 0, laterTake = 0] = []] = costs;
  expect(laterSubscribe / subscribe).toBeLessThan(1.5);
  expect(laterTake / take).toBeLessThan(1.5);
});

test("one call removes at most 1,000 messages, and later calls of the topic the others", () => {
  const backlogs = { ...defaultBacklogs, topicMessages: 2_000 };
  const tree = treeOf(2, true, { backlogs });
  for (const number of numbers(1_500)) {
    tree.tell(number);
    tree.take(tree.child(2));
  }
  tree.end(tree.child(1));
  expect(tree.messages).toHaveLength(500);
  tree.tell("last");
  expect(tree.messages).toEqual(["last"]);
});

test("erasing a tree removes all data of its topics", () => {
  const tree = new TalkingTree({ treeId, maxAgents: 2, projects: false });
  tree.spawnChild(tree.root);
  tree.subscribe(tree.child(1));
  tree.tell("a");
  tree.take(tree.child(1));
  tree.end(tree.child(1));
  tree.end(tree.root);
  tree.call("erase", Json.as(tree.takeSent("erase")));
  const left = [...tree.object.state.keys()].filter((key) => /^(topic|subscriptions|told)\//.test(key));
  expect(left).toEqual([]);
});
