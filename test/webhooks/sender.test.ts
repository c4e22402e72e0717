import { Partition, WebhookDelivery, type Store } from "reeve/store";
import { type NumberedEvent } from "reeve";
import { type WebhookEvent } from "#kernel";
import { createAddressPolicy, createCheckedFetch, type AddressPolicyOptions } from "reeve/net";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { WebhookSender } from "../../src/webhooks/webhook-sender.ts";
import { Webhooks } from "../../src/webhooks/webhooks.ts";
import { forbiddenUrls, names } from "../net/address-corpus.ts";
import { serveOn } from "../net/loopback-servers.ts";
import { endOf, warningOf } from "./events.ts";
import { openReceiver } from "./receiver.ts";

const partition = Partition.of("acme");
const tenant = "acme";
const resolve = async (host: string): Promise<readonly string[]> => names[host] ?? ["93.184.215.14"];
const loopback = { allowHttp: true, allow: ["127.0.0.1"] } as const;

/** Webhooks and a sender over a store, with a manual clock. */
function open({
  addresses = loopback,
  store = memoryStore(),
}: { addresses?: AddressPolicyOptions; store?: Store } = {}) {
  const clock = manualClock();
  const policy = createAddressPolicy(addresses);
  const options = {
    maxAttempts: 3,
    maxDead: 1_000,
    backoff: { firstMs: 1_000 },
    timeoutMs: 5_000,
    pollIntervalMs: 500,
  };
  const sender = new WebhookSender({ store, fetch: createCheckedFetch({ policy }), clock, options });
  const webhooks = new Webhooks({
    store: () => store,
    policy,
    now: () => clock.now(),
    wake: () => sender.wake(),
  });
  const add = async (
    ...events: readonly (NumberedEvent & { readonly type: WebhookEvent })[]
  ): Promise<void> => {
    for (const event of events) await store.events.append(partition, event.treeId, [event]);
    await store.webhooks.enqueue(
      partition,
      events.map(({ treeId, seq, type, at }) => ({ webhookId: "hook", treeId, seq, event: type, at })),
    );
  };
  return { clock, sender, webhooks, store, add };
}

test("a delivery that fails too often is dead, lets its tree go on, and can be sent again", async () => {
  let status = 500;
  const secrets: string[] = [];
  const { clock, sender, webhooks, add } = open();
  await using receiver = await openReceiver({
    secrets: () => secrets,
    answer: () => status,
    now: () => clock.now(),
  });
  secrets.push((await webhooks.set({ id: "hook", url: receiver.url, tenant })).secret ?? "");
  await add(warningOf("t1", 1), endOf("t1", 2));
  await sender.run();
  expect(receiver.requests()).toBe(1);
  await sender.run();
  expect(receiver.requests()).toBe(1);
  await clock.advance(999);
  await sender.run();
  expect(receiver.requests()).toBe(1);
  await clock.advance(1);
  await sender.run();
  expect(receiver.requests()).toBe(2);
  await clock.advance(2_000);
  await sender.run();
  // The third failure of the first is its last; the second gets its first try at once.
  expect(receiver.requests()).toBe(4);
  const dead = await webhooks.deliveries("hook", { tenant, status: "dead" });
  expect(dead.items).toMatchObject([{ id: "t1.1", status: "dead", attempts: 3, error: "status 500" }]);
  expect(await webhooks.get("hook", { tenant })).toMatchObject({ pending: 1, dead: 1 });

  status = 200;
  await clock.advance(1_000);
  await sender.run();
  expect(receiver.accepted.map(({ data }) => data["status"])).toEqual(["failed"]);
  expect(await webhooks.redeliver("hook", { tenant, delivery: "t1.9" })).toBe(0);
  expect(await webhooks.redeliver("hook", { tenant, delivery: dead.items[0]?.id })).toBe(1);
  await sender.run();
  expect(receiver.accepted.map(({ type }) => type)).toEqual(["run.end", "budget.warning"]);
  expect(await webhooks.get("hook", { tenant })).toMatchObject({ pending: 0, dead: 0 });
});

test("the message of an event is small, and holds no content", async () => {
  const bodies: string[] = [];
  await using server = await serveOn((request, response) => {
    request.setEncoding("utf8").on("data", (part: string) => bodies.push(part));
    request.on("end", () => response.end());
  });
  const { sender, webhooks, add } = open();
  await webhooks.set({ id: "hook", url: server.url, tenant });
  await add(endOf("t1", 1));
  await sender.run();
  expect(JSON.parse(bodies.join(""))).toEqual({
    type: "run.end",
    timestamp: "1970-01-01T00:00:01.000Z",
    data: {
      treeId: "t1",
      runId: "t1~0",
      agent: "lead",
      status: "failed",
      stopReason: "error",
      durationMs: 12,
      costMicros: 34,
      error: "tool-failed",
    },
  });
});

test("a redirect of a receiver is a failure, and is not followed", async () => {
  await using other = await openReceiver({ secrets: () => [] });
  await using first = await serveOn((_, response) => response.writeHead(307, { location: other.url }).end());
  const { sender, webhooks, add } = open();
  await webhooks.set({ id: "hook", url: first.url, tenant });
  await add(endOf("t1", 1));
  await sender.run();
  expect((await webhooks.deliveries("hook", { tenant })).items).toMatchObject([{ error: "status 307" }]);
  expect(other.requests()).toBe(0);
});

test("no webhook reaches an address that the policy forbids", async () => {
  const hits: string[] = [];
  await using canary = await serveOn((request, response) => {
    hits.push(request.headers.host ?? "");
    response.end();
  });
  const { sender, webhooks, add, clock } = open({ addresses: { allowHttp: true, resolve } });
  const set: string[] = [];
  const refusals: string[] = [];
  for (const [index, url] of forbiddenUrls(canary.port).entries()) {
    const refusal = await webhooks.set({ id: "hook", url, tenant }).then(() => "", String);
    refusals.push(refusal);
    if (refusal !== "") continue;
    // Only its addresses are forbidden: they are known when it is sent.
    set.push(url);
    await add(endOf(`t${index}`, 1));
    await sender.run();
    const { items } = await webhooks.deliveries("hook", { tenant, size: 1 });
    expect(items).toMatchObject([{ attempts: 1, error: expect.stringContaining("address refused") }]);
    await webhooks.remove("hook", { tenant });
    await clock.advance(1);
  }
  expect(refusals.filter((text) => text !== "" && !text.includes("address refused"))).toEqual([]);
  expect(set.length).toBeGreaterThan(20);
  expect(hits).toEqual([]);
});

test("every secret that callers get at the same moment is valid", async () => {
  const { webhooks, store } = open();
  const stored = async (): Promise<string> => JSON.stringify(await store.webhooks.get(partition, "hook"));
  const set = (): ReturnType<typeof webhooks.set> =>
    webhooks.set({ id: "hook", url: "http://127.0.0.1:8080/", tenant });
  const secrets = (await Promise.all([set(), set()])).flatMap(({ secret }) => secret ?? []);
  expect(secrets).toEqual([expect.any(String)]);
  expect(await stored()).toContain(secrets[0]);
  const rotate = (): ReturnType<typeof webhooks.rotateSecret> => webhooks.rotateSecret("hook", { tenant });
  for (const { secret } of await Promise.all([rotate(), rotate()])) expect(await stored()).toContain(secret);
});

test("requests are signed with both secrets during a rotation, and with the new one after", async () => {
  const signatures: (readonly string[])[] = [];
  await using server = await serveOn((request, response) => {
    signatures.push(String(request.headers["webhook-signature"]).split(" "));
    response.end();
  });
  const { clock, sender, webhooks, add, store } = open();
  await webhooks.set({ id: "hook", url: server.url, tenant });
  const { secret } = await webhooks.rotateSecret("hook", { tenant, keepOldS: 60 });
  await add(endOf("t1", 1));
  await sender.run();
  await clock.advance(60_000);
  await add(endOf("t2", 1));
  await sender.run();
  expect(signatures.map((each) => each.length)).toEqual([2, 1]);
  // Setting it again keeps the secret, and shows none.
  expect(await webhooks.set({ id: "hook", url: server.url, tenant })).not.toHaveProperty("secret");
  expect(JSON.stringify(await store.webhooks.get(partition, "hook"))).toContain(secret);
  expect(JSON.stringify(await webhooks.get("hook", { tenant }))).not.toContain("whsec_");
  await expect(webhooks.rotateSecret("hook")).rejects.toMatchObject({ code: "not-found" });
});

test("two senders over one store send each event once, in order", async () => {
  const secrets: string[] = [];
  const store = memoryStore();
  const [one, other] = [open({ store }), open({ store })];
  await using receiver = await openReceiver({ secrets: () => secrets, now: () => one.clock.now() });
  secrets.push((await one.webhooks.set({ id: "hook", url: receiver.url, tenant })).secret ?? "");
  for (let tree = 0; tree < 20; tree += 1)
    await one.add(...[1, 2, 3].map((seq) => warningOf(`t${tree}`, seq)));
  await Promise.all([one.sender.run(), other.sender.run()]);
  expect(receiver.requests()).toBe(60);
  for (const messages of Map.groupBy(receiver.accepted, ({ data }) => data["treeId"]).values())
    expect(messages.map(({ data }) => data["used"])).toEqual([81, 82, 83]);
});

test("closing gives up a request in flight, and its delivery is due at once", async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await serveOn(() => asked.resolve());
  const { sender, webhooks, add, clock, store } = open();
  await webhooks.set({ id: "hook", url: server.url, tenant });
  await add(endOf("t1", 1));
  void sender.run();
  await asked.promise;
  await sender.close();
  const due = {
    lease: "next",
    now: clock.now(),
    until: clock.now() + 1,
    limit: 10,
    perWebhook: 4,
    perTenant: 8,
  };
  expect(await store.webhooks.claim(due)).toMatchObject([{ id: WebhookDelivery.id(endOf("t1", 1)) }]);
});

test("receivers of one tenant that never answer do not delay the webhook of another tenant", async () => {
  const hanging = Promise.withResolvers<void>();
  let hung = 0;
  await using tarpit = await serveOn(() => {
    hung += 1;
    if (hung === 8) hanging.resolve();
  });
  const { sender, webhooks, store, clock } = open();
  await using receiver = await openReceiver({ secrets: () => secrets, now: () => clock.now() });
  const hooks = Array.from({ length: 20 }, (_, index) => `hook-${index}`);
  for (const id of hooks) await webhooks.set({ id, url: tarpit.url, tenant });
  const secrets = [(await webhooks.set({ id: "hook", url: receiver.url, tenant: "rival" })).secret ?? ""];
  const enqueue = async (of: string, webhookId: string, tree: string): Promise<void> => {
    const event = endOf(tree, 1);
    await store.events.append(Partition.of(of), event.treeId, [event]);
    const { treeId, seq, type, at } = event;
    await store.webhooks.enqueue(Partition.of(of), [{ webhookId, treeId, seq, event: type, at }]);
  };
  for (const [index, id] of hooks.entries()) await enqueue(tenant, id, `t${index}`);
  void sender.run();
  await hanging.promise;
  await enqueue("rival", "hook", "last");
  void sender.run();
  await receiver.waitForCount(1);
  expect(hung).toBe(8);
  await sender.close();
});

test.each([
  [{ id: "a b" }, `invalid webhook id "a b": use 1 to 64`],
  [{ url: "http://public.example/" }, "http: is not allowed"],
  [{ events: [] }, "events must be one or more of"],
  [{ secret: "short" }, "invalid webhook secret: use whsec_ followed by 24 to 64 bytes"],
])("refuses %j", async (wrong, message) => {
  const { webhooks } = open({ addresses: {} });
  const given = { id: "hook", url: "https://public.example/hook", tenant, ...wrong };
  await expect(webhooks.set(given)).rejects.toThrow(message);
});

test("a tenant has at most 20 webhooks", async () => {
  const { webhooks } = open();
  for (let n = 0; n < 20; n += 1) await webhooks.set({ id: `h${n}`, url: "https://public.example/", tenant });
  await expect(webhooks.set({ id: "one-more", url: "https://public.example/", tenant })).rejects.toThrow(
    RangeError,
  );
  await webhooks.set({ id: "h3", url: "https://public.example/other", tenant });
  await webhooks.set({ id: "h3", url: "https://public.example/", tenant: "rival" });
});
