import { BacklogFullError, Json, MessageId } from "#kernel";
import { expect, test } from "vitest";
import type { InboxBatch, ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import { defaultBacklogs, type BacklogLimits, type UnreadItems } from "../../src/tree/state/backlogs.ts";
import { LazyTree } from "./lazy-tree.ts";

/** A tree whose root is sent signals. */
class SignalledTree extends LazyTree {
  #taken = 1;

  constructor(backlogs: Partial<BacklogLimits> = {}) {
    super({ maxAgents: 2, deps: { backlogs: { ...defaultBacklogs, ...backlogs } } });
  }

  signal(data: Json, id = this.id()): void {
    this.call("signal", { run: this.root, name: "note", data, messageId: MessageId.of(id), at: 5 });
  }

  take(backlog?: UnreadItems): InboxBatch {
    const from = { ...this.from(this.root), cursor: this.#taken };
    const cost = this.call("take", { ...from, ...(backlog && { backlog }) });
    const { reply } = Json.as<RunReply<ReplyOf<"take">>>(cost.result);
    this.#taken = reply.cursor;
    return reply;
  }

  /** The size that the tree has noted for what waits. */
  get noted(): unknown {
    return this.run(this.root)?.inbox.sent;
  }
}

const lengthOf = (data: Json): number => JSON.stringify({ kind: "signal", name: "note", data }).length;

test("the size of what waits is that of the signals that were sent and not taken", () => {
  const tree = new SignalledTree();
  const waiting: Json[] = [];
  for (let number = 0; number < 150; number++) {
    const data = "x".repeat((number * 7) % 50);
    tree.signal(data);
    waiting.push(data);
    if (number % 60 === 59) waiting.splice(0, tree.take().items.length);
    const characters = waiting.reduce<number>((sum, each) => sum + lengthOf(each), 0);
    expect(tree.noted).toEqual({ messages: waiting.length, characters });
  }
  while (tree.take().more);
  expect(tree.noted).toBeUndefined();
});

test("a signal that finds no room is refused, also if it was taken and not read, and is accepted later", () => {
  const tree = new SignalledTree({ inboxMessages: 3 });
  tree.signal("a");
  tree.signal("b", "b");
  tree.take({ inbox: { messages: 1, characters: 10 } });
  tree.signal("c");
  tree.signal("d");
  expect(() => tree.signal("e", "e")).toThrow(BacklogFullError);
  expect(() => tree.signal("e", "e")).toThrow(/is full: at most 3 messages can wait to be read/);
  // It came before, so it is not new.
  tree.signal("b", "b");
  tree.take();
  tree.signal("e", "e");
  expect(tree.take().items.at(-1)).toMatchObject({ kind: "signal", data: "e" });
});

test("a signal is refused by the length of what waits, but not by its own", () => {
  const tree = new SignalledTree({ inboxCharacters: 1_000 });
  tree.signal("x".repeat(2_000));
  expect(() => tree.signal("y")).toThrow(/at most 1000 characters/);
  tree.take();
  tree.signal("y");
  tree.take({ inbox: { messages: 2, characters: 990 } });
  expect(() => tree.signal("y")).toThrow(/at most 1000 characters/);
});

test("what the tree has to tell a run is never refused", () => {
  const tree = new SignalledTree({ inboxMessages: 1 });
  tree.spawn(1);
  tree.signal("a");
  tree.end(tree.child(1));
  tree.call("cancel", { run: tree.root, reason: "enough", at: 6 });
  const { items } = tree.take();
  expect(items.map(({ kind }) => kind)).toEqual(["signal", "ended", "cancel"]);
});
