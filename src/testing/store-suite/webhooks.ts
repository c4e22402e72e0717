import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  RunId,
  TreeId,
  type ClaimedDelivery,
  type NewWebhookDelivery,
  type Partition,
  type Store,
  type WebhookRecord,
} from "#kernel";
import { ann, bob, runOf, createTenant, storeCase, type StoreCase } from "./harness.ts";

const webhookOf = (id: string, fields: Partial<WebhookRecord> = {}): WebhookRecord => ({
  id,
  events: ["run.end", "approval.requested"],
  allRuns: false,
  setAt: 1_000,
  revision: 1,
  target: { url: "https://receiver.example/hook", secrets: ["whsec_x"] },
  ...fields,
});

const deliveryOf = (webhookId: string, tree: string, seq: number): NewWebhookDelivery => ({
  webhookId,
  treeId: TreeId.of(tree),
  seq,
  event: "run.end",
  at: 1_000 + seq,
});

/** Claims due deliveries and returns those of one tenant: the database may hold those of other tenants. */
async function claimOwn(
  store: Store,
  { tenantId }: Partition,
  { now, until = now + 30_000 }: { readonly now: number; readonly until?: number },
): Promise<readonly ClaimedDelivery[]> {
  const claimed = await store.webhooks.claim({
    lease: randomUUID(),
    now,
    until,
    limit: 1_000,
    perWebhook: 1_000,
    perTenant: 1_000,
  });
  return claimed.filter(({ partition }) => partition.tenantId === tenantId);
}

const idsOf = (deliveries: readonly { readonly id: string }[]): readonly string[] =>
  deliveries.map(({ id }) => id).toSorted();

export const webhookCases: readonly StoreCase[] = [
  storeCase("a webhook is replaced by its id, and its tenant alone sees it", async (desk) => {
    const { store, tenant, harness } = desk;
    await store.webhooks.put(tenant, webhookOf("b"));
    await store.webhooks.put(tenant, webhookOf("a"));
    await store.webhooks.put(
      tenant,
      webhookOf("b", { revision: 2, allRuns: true, target: { url: "https://other.example" } }),
    );
    const elsewhere = await harness.open();
    const changed = webhookOf("b", { revision: 2, allRuns: true, target: { url: "https://other.example" } });
    assert.deepEqual(await elsewhere.webhooks.list(tenant), [webhookOf("a"), changed]);
    assert.deepEqual(await elsewhere.webhooks.get(tenant, "b"), changed);
    const other = createTenant();
    assert.deepEqual(await elsewhere.webhooks.list(other), []);
    assert.equal(await elsewhere.webhooks.get(other, "b"), null);
    assert.equal(await elsewhere.webhooks.remove(other, "b"), false);
    assert.equal(await elsewhere.webhooks.remove(tenant, "b"), true);
    assert.deepEqual(idsOf(await store.webhooks.list(tenant)), ["a"]);
    await elsewhere[Symbol.asyncDispose]();
  }),

  storeCase("of changes of a webhook that meet, one is written and the others are refused", async (desk) => {
    const { store, tenant, harness } = desk;
    const elsewhere = await harness.open();
    const stores = [store, elsewhere, store, elsewhere];
    for (const revision of [1, 2, 3]) {
      const puts = stores.map(({ webhooks }, setAt) =>
        webhooks.put(tenant, webhookOf("hook", { revision, setAt })),
      );
      const written = await Promise.all(puts);
      assert.equal(written.filter(Boolean).length, 1);
      const kept = await store.webhooks.get(tenant, "hook");
      assert.deepEqual([kept?.revision, kept?.setAt], [revision, written.indexOf(true)]);
    }
    assert.equal(await store.webhooks.put(tenant, webhookOf("hook", { revision: 1 })), false);
    assert.equal(await store.webhooks.put(tenant, webhookOf("hook", { revision: 5 })), false);
    await elsewhere[Symbol.asyncDispose]();
  }),

  storeCase("of dead deliveries the newest stay, for each webhook", async ({ store, tenant }) => {
    const all = ["a", "b"].flatMap((webhook) =>
      [1, 2, 3, 4].map((seq) => deliveryOf(webhook, `t${seq % 2}`, seq)),
    );
    await store.webhooks.enqueue(tenant, all);
    const keep = 2;
    for (let round = 0; round < 2; round++)
      for (const claimed of await claimOwn(store, tenant, { now: 2_000 + round }))
        if (claimed.webhookId === "a" || claimed.seq === 1)
          await store.webhooks.settle(claimed, { kind: "dead", error: "status 500", keep });
    const idsOfDead = async (webhookId: string): Promise<readonly string[]> => {
      const page = await store.webhooks.deliveries(tenant, { webhookId, status: "dead" }, { size: 9 });
      return page.items.map(({ id }) => id);
    };
    assert.deepEqual(await idsOfDead("a"), ["t0.4", "t1.3"]);
    assert.deepEqual(await idsOfDead("b"), ["t1.1"]);
    assert.deepEqual(await store.webhooks.count(tenant, "b"), { pending: 3, dead: 1 });
  }),

  storeCase("deliveries of a tree go out in sequence, through one sender at a time", async (desk) => {
    const { store, tenant, harness } = desk;
    const elsewhere = await harness.open();
    await store.webhooks.enqueue(tenant, [
      deliveryOf("hook", "t1", 7),
      deliveryOf("hook", "t1", 30),
      deliveryOf("hook", "t2", 4),
      deliveryOf("other", "t1", 7),
    ]);
    await elsewhere.webhooks.enqueue(tenant, [deliveryOf("hook", "t1", 7)]);
    assert.deepEqual(await claimOwn(store, tenant, { now: 1_000 }), []);
    const now = 2_000;
    const both = await Promise.all([claimOwn(store, tenant, { now }), claimOwn(elsewhere, tenant, { now })]);
    assert.deepEqual(idsOf(both.flat()), ["t1.7", "t1.7", "t2.4"]);
    assert.deepEqual(await claimOwn(elsewhere, tenant, { now }), []);
    for (const claimed of both.flat()) await store.webhooks.settle(claimed, { kind: "delivered" });
    assert.deepEqual(idsOf(await claimOwn(elsewhere, tenant, { now })), ["t1.30"]);
    assert.deepEqual(await store.webhooks.count(tenant, "hook"), { pending: 1, dead: 0 });
    await elsewhere[Symbol.asyncDispose]();
  }),

  storeCase(
    "a failed delivery holds up its tree until its next try, and a dead one does not",
    async (desk) => {
      const { store, tenant } = desk;
      await store.webhooks.enqueue(tenant, [deliveryOf("hook", "t1", 1), deliveryOf("hook", "t1", 2)]);
      const [first] = await claimOwn(store, tenant, { now: 2_000 });
      assert.ok(first);
      await store.webhooks.settle(first, { kind: "retry", nextAt: 5_000, error: "status 500" });
      assert.deepEqual(await claimOwn(store, tenant, { now: 4_999 }), []);
      const [again] = await claimOwn(store, tenant, { now: 5_000 });
      assert.ok(again);
      const { id, attempts, error, status } = again;
      assert.deepEqual([id, attempts, error, status], ["t1.1", 1, "status 500", "pending"]);
      await store.webhooks.settle(again, { kind: "dead", error: "status 503", keep: 9 });
      assert.deepEqual(idsOf(await claimOwn(store, tenant, { now: 5_000 })), ["t1.2"]);
      const page = { size: 10 };
      const dead = await store.webhooks.deliveries(tenant, { webhookId: "hook", status: "dead" }, page);
      assert.deepEqual(
        dead.items.map((each) => [each.id, each.attempts, each.error]),
        [["t1.1", 2, "status 503"]],
      );
      assert.deepEqual(await store.webhooks.count(tenant, "hook"), { pending: 1, dead: 1 });
      const request = { webhookId: "hook", at: 6_000 };
      assert.equal(await store.webhooks.redeliver(createTenant(), request), 0);
      assert.equal(await store.webhooks.redeliver(tenant, { ...request, id: "t1.2" }), 0);
      assert.equal(await store.webhooks.redeliver(tenant, request), 1);
      const [redelivered] = await claimOwn(store, tenant, { now: 6_000 });
      assert.deepEqual([redelivered?.id, redelivered?.attempts], ["t1.1", 0]);
    },
  ),

  storeCase(
    "a delivery of a lost sender is claimed again, and the lost lease settles nothing",
    async (desk) => {
      const { store, tenant } = desk;
      await store.webhooks.enqueue(tenant, [deliveryOf("hook", "t1", 1)]);
      const [lost] = await claimOwn(store, tenant, { now: 2_000, until: 3_000 });
      assert.deepEqual(await claimOwn(store, tenant, { now: 2_999 }), []);
      const [taken] = await claimOwn(store, tenant, { now: 3_000 });
      assert.ok(lost && taken);
      await store.webhooks.settle(lost, { kind: "delivered" });
      await store.webhooks.settle(lost, { kind: "dead", error: "late", keep: 9 });
      assert.deepEqual(await store.webhooks.count(tenant, "hook"), { pending: 1, dead: 0 });
      await store.webhooks.settle(taken, { kind: "delivered" });
      assert.deepEqual(await store.webhooks.count(tenant, "hook"), { pending: 0, dead: 0 });
    },
  ),

  storeCase(
    "a webhook gets its share of a claim, and deliveries come in pages",
    async ({ store, tenant }) => {
      const many = Array.from({ length: 5 }, (_, index) => deliveryOf("slow", `t${index}`, 1));
      await store.webhooks.enqueue(tenant, [...many, { ...deliveryOf("quick", "t0", 1), at: 1_500 }]);
      const claim = async (now: number): Promise<readonly ClaimedDelivery[]> => {
        const lease = randomUUID();
        const request = { lease, now, until: 3_000, limit: 1_000, perWebhook: 2, perTenant: 1_000 };
        const claimed = await store.webhooks.claim(request);
        return claimed.filter(({ partition }) => partition.tenantId === tenant.tenantId);
      };
      const own = await claim(2_000);
      assert.deepEqual(own.map(({ webhookId }) => webhookId).toSorted(), ["quick", "slow", "slow"]);
      assert.deepEqual(await claim(2_000), []);
      for (const delivery of own)
        await store.webhooks.settle(delivery, { kind: "retry", nextAt: 1, error: "" });
      assert.equal((await claim(2_000)).length, 3);
      const first = await store.webhooks.deliveries(tenant, { webhookId: "slow" }, { size: 3 });
      const after = first.next ?? "";
      const second = await store.webhooks.deliveries(tenant, { webhookId: "slow" }, { size: 3, after });
      assert.deepEqual(idsOf([...first.items, ...second.items]), ["t0.1", "t1.1", "t2.1", "t3.1", "t4.1"]);
      assert.equal(second.next, null);
      assert.deepEqual(
        (await store.webhooks.deliveries(createTenant(), { webhookId: "slow" }, { size: 3 })).items,
        [],
      );
    },
  ),

  storeCase(
    "a tenant gets its share of a claim, its webhooks take turns, and no tenant waits for another",
    async ({ store, tenant }) => {
      const other = createTenant();
      const many = ["a", "b"].flatMap((webhook) =>
        Array.from({ length: 3 }, (_, index) => deliveryOf(webhook, `t${index}`, 1)),
      );
      await store.webhooks.enqueue(tenant, many);
      await store.webhooks.enqueue(other, [{ ...deliveryOf("late", "t0", 1), at: 1_900 }]);
      const claim = async (): Promise<readonly ClaimedDelivery[]> => {
        const shares = { limit: 1_000, perWebhook: 2, perTenant: 3 };
        const claimed = await store.webhooks.claim({
          lease: randomUUID(),
          now: 2_000,
          until: 3_000,
          ...shares,
        });
        const own = new Set([tenant.tenantId, other.tenantId]);
        return claimed.filter(({ partition }) => own.has(partition.tenantId));
      };
      const claimed = await claim();
      const webhooks = claimed.map(({ webhookId }) => webhookId);
      assert.equal(webhooks.length, 4);
      assert.ok(webhooks.slice(0, 2).includes("late"), `late is behind ${webhooks.join()}`);
      for (const each of ["a", "b"])
        assert.ok(webhooks.includes(each), `${each} is not among ${webhooks.join()}`);
      assert.deepEqual(await claim(), []);
      const first = claimed.find(({ webhookId }) => webhookId !== "late");
      assert.ok(first);
      await store.webhooks.settle(first, { kind: "delivered" });
      assert.equal((await claim()).length, 1);
    },
  ),

  storeCase(
    "what another sender has tried in vain since is not claimed before its next try",
    async ({ store, tenant }) => {
      await store.webhooks.enqueue(tenant, [deliveryOf("hook", "t1", 1)]);
      const [tried] = await claimOwn(store, tenant, { now: 2_000, until: 2_500 });
      assert.ok(tried);
      await store.webhooks.settle(tried, { kind: "retry", nextAt: 9_000, error: "status 500" });
      assert.deepEqual(await claimOwn(store, tenant, { now: 8_999 }), []);
      assert.equal((await claimOwn(store, tenant, { now: 9_000 })).length, 1);
    },
  ),

  storeCase(
    "deliveries are removed with their webhook, and with the user of their tree",
    async ({ store, tenant }) => {
      for (const [tree, userId] of [
        ["anns", ann],
        ["bobs", bob],
      ] as const)
        await store.runs.put(tenant, runOf({ runId: RunId.root(TreeId.of(tree)), userId }));
      await store.webhooks.enqueue(tenant, [deliveryOf("hook", "anns", 1), deliveryOf("hook", "bobs", 1)]);
      await store.eraseUser(tenant, ann);
      const listed = await store.webhooks.deliveries(tenant, { webhookId: "hook" }, { size: 10 });
      assert.deepEqual(idsOf(listed.items), ["bobs.1"]);
      await store.webhooks.put(tenant, webhookOf("hook"));
      await store.webhooks.remove(tenant, "hook");
      assert.deepEqual(await store.webhooks.count(tenant, "hook"), { pending: 0, dead: 0 });
    },
  ),
];
