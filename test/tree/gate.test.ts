import { Json, SessionId, StepId, TenantId, TopicId, TreeId } from "#kernel";
import { expect, test } from "vitest";
import type { ArgumentOf } from "../../src/tree/protocol.ts";
import { LazyTree } from "./lazy-tree.ts";

const wish: NonNullable<ArgumentOf<"begin">["ask"]> = {
  model: "/m",
  inputTokens: 10,
  outputTokens: 10,
  minOutputTokens: 1,
  price: null,
  unpriced: "allow",
  landing: false,
};

test.each([
  [{ maxTokens: 1_000 }, "tokens", 1_000],
  [{ maxCostUsd: 1 }, "cost", 1_000_000],
])("a prompt of unknown size is denied under %j", (budget, dimension, limit) => {
  const tree = new LazyTree({ maxAgents: 2, budget });
  const { result } = tree.begin(tree.root, "attempt", { ask: { ...wish, inputTokens: null } });
  expect(result).toMatchObject({
    reply: { gate: { kind: "denied", reason: "unbounded", dimension, limit } },
  });
});

test("a prompt of unknown size passes the gate where nothing limits it", () => {
  const tree = new LazyTree({ maxAgents: 2, budget: { maxTurns: 3 } });
  const { result } = tree.begin(tree.root, "attempt", { ask: { ...wish, inputTokens: null } });
  expect(result).toMatchObject({ reply: { gate: { kind: "granted" } } });
});

test("a call of an ended run is refused without a report", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const child = tree.spawnChild(tree.root);
  tree.end(child);
  expect(tree.begin(child).result).toMatchObject({ reply: { gate: { why: "ended" }, reported: 0 } });
});

test("a lease is renewed when it is over, and not before", () => {
  const scope = {
    tenantId: TenantId.of("acme"),
    userId: null,
    sessionId: SessionId.of("s"),
    channel: null,
    metadata: {},
  };
  const tree = new LazyTree({ maxAgents: 2, open: { scope } });
  tree.object.answer = (method) =>
    method === "requestQuota"
      ? {
          tokens: 30,
          costMicros: null,
          limits: { tokens: { account: "tenant", limit: 30, spent: 0, reserved: 0 }, costMicros: null },
          until: tree.object.time + 50_000,
          leasedAt: 1,
          adds: false,
          used: { tokens: 0, costMicros: 0 },
        }
      : null;
  tree.begin(tree.root);
  tree.begin(tree.root);
  tree.object.time = 60_000;
  tree.begin(tree.root);
  const draws = tree.object.called.filter(({ method }) => method === "requestQuota");
  expect(draws.map(({ argument }) => Object(argument).renews)).toEqual([true, false, true]);
});

test("a queued run that becomes urgent makes another run yield", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.spawn(1);
  tree.queue(1);
  tree.call("reprioritize", { run: tree.child(2), priority: "critical", operationId: "1", at: 3 });
  const { result } = tree.call("take", tree.from(tree.child(1)));
  expect(result).toMatchObject({ reply: { slotState: "yielding", items: [{ kind: "pause" }] } });
});

test("the policy for an execution that is blocked concerns its run, and no execution that is unknown", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawn(2);
  const blocked = (execution: string, policy: "hold" | "fail"): unknown =>
    tree.call("blocked", { execution, policy, kind: "stopped", lastError: "by an operator", at: 3 }).result;
  expect(blocked("execution 9", "fail")).toBe(false);
  expect([blocked("execution 2", "hold"), blocked("execution 2", "hold")]).toEqual([true, false]);
  expect(tree.call("status", { run: tree.child(1) }).result).toBe("paused");
  expect(blocked("execution 3", "fail")).toBe(true);
  expect(tree.object.killed).toEqual(["execution 3"]);
  expect(tree.call("status", { run: tree.child(2) }).result).toBe("failed");
});

test("a queued run is never the victim of a preemption", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.spawn(1);
  tree.queue(1);
  tree.preempt();
  expect(tree.events("spawn.queued").map(({ victim }) => victim)).toEqual([null, tree.child(1)]);
});

test("a reservation that another call waits for is given up when its call must have ended", () => {
  const tree = new LazyTree({ maxAgents: 3, budget: { maxTokens: 30 } });
  tree.spawn(1);
  tree.begin(tree.root, "first", { timeoutMs: 20_000, waitsSince: null });
  tree.begin(tree.child(1), "second", { waitsSince: null });
  tree.call("wait", { ...tree.from(tree.child(1)), on: null });
  expect(tree.takeSent("timerDue")).toEqual({ at: 25_001 });
  tree.object.time = 25_001;
  tree.call("timerDue", { at: 25_001 });
  const { result } = tree.call("take", tree.from(tree.child(1)));
  expect(Json.as<{ reply: { items: unknown } }>(result).reply.items).toContainEqual(
    expect.objectContaining({ kind: "budget" }),
  );
});

test("subscribers that have ended are taken off the list of a topic", () => {
  const tree = new LazyTree({ maxAgents: 3 });
  tree.spawn(2);
  const follow = (number: number): void => {
    const topic = TopicId.of("news", TreeId.of("t"));
    tree.call("subscribe", { run: tree.child(number), topic, subscription: `s${number}`, on: true, at: 3 });
  };
  follow(1);
  tree.end(tree.child(1));
  follow(2);
  const lists = [...tree.object.state].filter(([key]) => key.startsWith("subscriptions"));
  expect(lists.map(([, text]) => JSON.parse(text))).toEqual([[[2, "s2", null]]]);
});

test("a run is paused after its call was lost three times, and the stream has the reason", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const step = StepId.of(tree.root, "model", 1);
  const gates = [1, 2, 3, 4].map((order) => {
    const { result } = tree.begin(tree.root, `attempt-${order}`, { step, epoch: { id: `${order}`, order } });
    return Json.as<{ reply: { gate: { kind: string; reason?: string } } }>(result).reply.gate;
  });
  expect(gates.map(({ kind }) => kind)).toEqual(["granted", "granted", "granted", "refused"]);
  expect(tree.events("run.paused")).toMatchObject([{ reason: gates[3]?.reason }]);
});
