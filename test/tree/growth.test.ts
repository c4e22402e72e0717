import { AgentId, Json, MessageId, TopicId, TreeId, type ApprovalId } from "#kernel";
import { expect, test } from "vitest";
import { tenantObject } from "../../src/tree/tenant/tenant-object.ts";
import { LazyObject, type Cost } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";

/** Returns the bytes that the last of several calls reads and writes. */
const bytesMoved = ({ bytesRead, bytesWritten }: Cost): number => bytesRead + bytesWritten;

/** Compares the cost of a call after few and after many others. */
const compare = (cost: (before: number) => Cost): number => bytesMoved(cost(200)) / bytesMoved(cost(2));

test("an ask costs the same, however many asks of other runs are open", () => {
  const tree = new LazyTree({ maxAgents: 402 });
  tree.spawn(400);
  const [first, second] = [tree.child(1), tree.child(2)];
  const before = tree.ask(first, second).bytesWritten;
  for (let number = 3; number < 400; number++) tree.ask(tree.child(number), tree.child(number + 1));
  expect(tree.ask(second, tree.child(400)).bytesWritten / before).toBeLessThan(1.5);
});

test("a subscription costs the same, however many topics have subscribers", () => {
  const ratio = compare((topics) => {
    const tree = new LazyTree({ maxAgents: 2 });
    const subscribe = (topic: number): Cost =>
      tree.call("subscribe", {
        run: tree.root,
        topic: TopicId.of(`topic-${topic}`, TreeId.of("t")),
        subscription: tree.id(),
        on: true,
        at: 3,
      });
    for (let topic = 0; topic < topics; topic++) subscribe(topic);
    return subscribe(topics);
  });
  expect(ratio).toBeLessThan(1.2);
});

test("an approval costs the same, however many were asked for before, and all are listed in order", () => {
  const ratio = compare((count) => {
    const tree = new LazyTree({ maxAgents: 2 });
    const request = (number: number): Cost => {
      const id = Json.as<ApprovalId>(`${tree.root}#approval:${number}`);
      const question = { id, tool: "mail", risk: "high", arguments: {}, hash: "h", why: "w" } as const;
      const approval = { ...question, expiresAt: 99 };
      const asked = tree.call("requestApproval", { ...tree.from(tree.root), approval });
      tree.call("decideApproval", { approval: id, operationId: "o", decision: "approved", by: "ann", at: 3 });
      tree.call("take", tree.from(tree.root));
      return asked;
    };
    for (let number = 0; number < count; number++) request(number);
    const cost = request(count);
    const listed = Json.as<{ id: string }[]>(tree.call("approvals", null).result);
    expect(listed.map(({ id }) => id.split(":")[1])).toEqual(
      Array.from({ length: count + 1 }, (_, n) => `${n}`),
    );
    return cost;
  });
  expect(ratio).toBeLessThan(1.2);
});

/** A tenant with a budget, and its trees, as the Restate engine hosts it. */
class LazyTenant {
  readonly object = new LazyObject("acme");
  readonly #methods = tenantObject({ projects: false }).methods;

  constructor(maxTokens: number) {
    const limits = { maxTokens, maxCostMicros: null, per: "day" };
    for (const user of [null, "ann"]) this.call("setBudget", { user, limits, by: null, operationId: "o" });
  }

  requestQuota(tree: string, tokens: number, mayWait = true): Cost {
    const used = { tokens: 0, costMicros: 0 };
    const figures = { tokens, costMicros: 0, used, renews: false, mayWait };
    return this.call("requestQuota", { tree, user: "ann", ...figures });
  }

  returnQuota(tree: string): Cost {
    return this.call("returnQuota", { tree, user: "ann", leasedAt: 1, used: { tokens: 3, costMicros: 0 } });
  }

  call(name: string, argument: object): Cost {
    const method = this.#methods[name];
    if (!method) throw new Error(`a tenant has no method ${name}`);
    return this.object.call(method, argument);
  }
}

const treeName = (number: number): string => `tree-${String(number).padStart(32, "0")}`;

test("with 10,000 open trees that have borrowed, a draw, a short draw and a return move at most 4 kB", () => {
  const tenant = new LazyTenant(160_000);
  for (let tree = 0; tree < 10_000; tree++) tenant.requestQuota(treeName(tree), 10, false);
  expect(tenant.object.keys("loan/")).toHaveLength(10_000);
  const costs = [
    tenant.returnQuota(treeName(3)),
    tenant.requestQuota(treeName(10_000), 1),
    tenant.requestQuota(treeName(10_001), 100_000),
  ];
  tenant.object.time = 200;
  costs.push(tenant.requestQuota(treeName(10_001), 100_000));
  expect(costs[1]?.result).toMatchObject({ tokens: 9_997 });
  expect(costs.slice(2).map(({ result }) => result)).toEqual(["short", "short"]);
  expect(Math.max(...costs.map(bytesMoved))).toBeLessThan(4_000);
});

test("short draws ask trees in sequence to return unused quota, and no tree that has returned it", () => {
  const tenant = new LazyTenant(10_000_000);
  for (let tree = 0; tree < 40; tree++) tenant.requestQuota(treeName(tree), 10, false);
  for (const tree of [39, 0, 20]) tenant.returnQuota(treeName(tree));
  for (let times = 1; times <= 3; times++) {
    tenant.object.time = times * 100;
    tenant.requestQuota("short", 9_999_999);
    tenant.requestQuota("also short", 9_999_999);
  }
  const asked = tenant.object.sent.map(({ to }) => to.key.slice("acme/".length));
  const holders = Array.from({ length: 40 }, (_, tree) => treeName(tree)).filter(
    (_, tree) => ![39, 0, 20].includes(tree),
  );
  expect(asked).toHaveLength(3 * 16);
  expect(new Set(asked)).toEqual(new Set(holders));
});

test("a message of one agent is not confused with another agent of a longer name", () => {
  const tree = new LazyTree({ maxAgents: 4 });
  tree.spawn(1, tree.root, "deny", AgentId.of("child"));
  tree.spawn(1, tree.root, "deny", AgentId.of("child", "b"));
  const send = (to: number, id: string): Json => {
    const from = { kind: "outside", name: "user" } as const;
    const message = { messageId: MessageId.of(id), from, text: `for ${to}`, at: 5 };
    return tree.call("send", { to: tree.child(to), ...message }).result;
  };
  expect([send(1, "b/c"), send(2, "c")]).toEqual([{ to: tree.child(1) }, { to: tree.child(2) }]);
});
