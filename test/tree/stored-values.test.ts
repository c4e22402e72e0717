import { AgentId, Json, MessageId, TooLargeError, type Envelope } from "#kernel";
import { expect, test } from "vitest";
import { fitEvent } from "../../src/tree/state/size.ts";
import { LazyTree } from "./lazy-tree.ts";

const kinds = (tree: LazyTree): readonly string[] =>
  [...new Set([...tree.object.state.keys()].map((key) => key.replace(/\/.*$/, "/")))].toSorted();

test("the names of a tree's values are a format: a tree that lives, has ended, and is erased", () => {
  const tree = new LazyTree({ maxAgents: 2, projects: false });
  tree.spawnChild(tree.root);
  tree.call("wait", { ...tree.from(tree.root), on: [tree.child(1)] });
  expect(kinds(tree)).toEqual([
    "event/",
    "info",
    "live",
    "live/",
    "run/",
    "seen/",
    "slot/",
    "tree",
    "waits/",
  ]);
  tree.end(tree.child(1));
  tree.end(tree.root);
  expect(kinds(tree)).toEqual(["closed", "content/", "ended/", "event/", "info", "seen/", "tree"]);
  tree.call("erase", Json.as(tree.takeSent("erase")));
  expect(kinds(tree)).toEqual(["closed", "ended/", "erased", "event/", "finished", "tree"]);
});

test("a tree with permanent content only is finished when it ends, with nothing to erase", () => {
  const tree = new LazyTree({ maxAgents: 2, projects: false });
  tree.end(tree.root);
  expect(tree.takeSent("erase")).toBeNull();
  expect(tree.readStored("finished")).toBe(true);
});

test("the store is ordered to erase a tree's non-permanent content", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.end(tree.root);
  const orders = tree.object.sent.filter(({ method }) => method === "take").map(({ argument }) => argument);
  expect(orders).toMatchObject([{ kind: "write" }, { kind: "erase", at: 30_001 }]);
});

test("the store is ordered to settle an unsaved turn: it stays if it was cancelled, or if a tool has acted", () => {
  const ends = [
    [{ status: "failed", stopReason: "error" }, false],
    [{ status: "failed", stopReason: "error", hasActed: true }, true],
    [{ status: "cancelled", stopReason: "cancelled" }, true],
  ] as const;
  for (const [end, keep] of ends) {
    const tree = new LazyTree({ maxAgents: 2 });
    tree.end(tree.root, null, end);
    const orders = tree.object.sent.filter(({ method }) => method === "take").map(({ argument }) => argument);
    expect(orders[1]).toMatchObject({ kind: "turn", keep, run: tree.root, release: null });
  }
});

test("a run that ends while it waits leaves no wait list, and one that yields keeps it", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawn(2);
  tree.call("wait", { ...tree.from(tree.child(1)), on: [tree.child(2)] });
  tree.call("wait", { ...tree.from(tree.child(2)), on: [tree.root] });
  tree.preempt();
  expect(tree.object.keys("waits/")).toEqual([`waits/${tree.child(1)}`, `waits/${tree.child(2)}`]);
  tree.end(tree.child(1));
  tree.end(tree.child(2));
  expect(tree.object.keys("waits/")).toEqual([]);
});

test("received ids are stored in at most 64 values", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  for (let number = 0; number < 500; number++) tree.send(tree.root, "hello");
  expect(tree.object.keys("seen/").length).toBeLessThanOrEqual(64);
});

test("an inbox of many pages is read in order, to its end, and is a short one again", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const texts = Array.from({ length: 100 }, (_, number) => `message ${number}`);
  const read: string[] = [];
  const take = (): number => {
    const { result } = tree.call("take", tree.from(tree.root));
    const { items } = Json.as<{ reply: { items: { envelope: Envelope }[] } }>(result).reply;
    read.push(...items.map(({ envelope }) => envelope.text));
    return items.length;
  };
  for (const text of texts) tree.send(tree.root, text);
  expect(tree.object.keys("inbox/").length).toBeGreaterThan(1);
  while (take() > 0);
  tree.send(tree.root, "later");
  take();
  expect(read).toEqual([...texts, "later"]);
  expect(tree.object.keys("inbox/")).toEqual([]);
});

test("a task may have half the size of a value", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawnChild(tree.root, { text: "x".repeat(7_900_000) });
  expect(() => tree.spawnChild(tree.root, { text: "x".repeat(8_100_000) })).toThrow(TooLargeError);
});

test("an event that is too large keeps its numbers, and its texts are cut", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const [started] = tree.events("run.start");
  if (!started) throw new Error("no run has started");
  const fitted = fitEvent(Object.assign({ seq: 1 }, started, { traceId: "x".repeat(300_000) }));
  expect(fitted).toMatchObject({ seq: 1, parentRunId: null });
  expect(fitted).toHaveProperty("traceId", `${"x".repeat(4_000)} [296000 more characters left out]`);
});

test("a copy of an agent that may call some tools may call no others, whatever it asks for", () => {
  const tree = new LazyTree({ maxAgents: 5 });
  const agentId = AgentId.of("parent");
  const copy = tree.spawnChild(tree.root, { agentId, tools: ["read", "write"] });
  const toolsOf = (tools: readonly string[] | null, of = agentId): unknown =>
    tree.run(tree.spawnChild(copy, { agentId: of, tools }))?.tools;
  expect(toolsOf(null)).toEqual(["read", "write"]);
  expect(toolsOf(["write", "send"])).toEqual(["write"]);
  expect(toolsOf(null, AgentId.of("child"))).toBeNull();
});

test("a request's trace is in the start of its root, and of no other run", () => {
  const caller = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
  const tree = new LazyTree({ maxAgents: 2, open: { caller } });
  tree.spawnChild(tree.root);
  expect(tree.events("run.start").map((event) => event.caller)).toEqual([caller, undefined]);
  const [alone] = new LazyTree({ maxAgents: 2 }).events("run.start");
  expect(alone).not.toHaveProperty("caller");
});

test("a child that lives on when its parent ends is cancelled with the root", () => {
  const tree = new LazyTree({ maxAgents: 4 });
  const parent = tree.spawnChild(tree.root);
  const child = tree.spawnChild(parent, { detached: true });
  const own = tree.spawnChild(tree.root, { detached: true });
  tree.end(parent);
  expect(tree.events("run.cancelling")).toEqual([]);
  expect(tree.slot(child)).toMatchObject({ parent: tree.root });
  tree.end(tree.root);
  expect(tree.events("run.cancelling")).toMatchObject([
    { runId: child, reason: "parent-ended" },
    { runId: own, reason: "parent-ended" },
  ]);
});

test("a message for an unknown run is refused", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  expect(() => tree.send(tree.child(9), "hello")).toThrow("no run t~9");
  const message = { messageId: MessageId.of("m"), from: { kind: "outside", name: "user" }, at: 5 } as const;
  expect(tree.call("send", { ...message, to: AgentId.of("unknown"), text: "" }).result).toEqual({
    deadLetter: "no-such-agent",
  });
});

test("a message of a run that has ended wakes no run: its limits are gone", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  const sender = tree.spawnChild(tree.root);
  const agentId = AgentId.of("child");
  const mail = { to: AgentId.of("child", "another"), messageId: MessageId.of("m"), text: "", at: 5 };
  const from = { kind: "run", runId: sender, agentId } as const;
  tree.end(sender);
  expect(tree.call("send", { ...mail, from }).result).toEqual({ deadLetter: "sender-ended" });
  const living = { kind: "run", runId: tree.root, agentId: AgentId.of("parent") } as const;
  expect(tree.call("send", { ...mail, from: living }).result).toEqual({ to: tree.child(2) });
});

test("a tree that has ended has no list of live runs", () => {
  const tree = new LazyTree({ maxAgents: 131 });
  tree.spawn(130);
  expect(tree.object.keys("live")).toHaveLength(4);
  for (let number = 130; number > 63; number--) tree.end(tree.child(number));
  expect(tree.object.keys("live").toSorted()).toEqual(["live", "live/0"]);
  for (let number = 63; number > 0; number--) tree.end(tree.child(number));
  tree.end(tree.root);
  expect(tree.object.keys("live")).toEqual([]);
});

test("events are loaded in pages of 64", () => {
  const tree = new LazyTree({ maxAgents: 101 });
  tree.spawn(100);
  const { result, roundTrips } = tree.call("events", { after: 0, limit: 256 });
  expect(result).toMatchObject({ events: { length: 201 }, more: false });
  // The tree, and four parts.
  expect(roundTrips).toBe(5);
});
