import { createClient } from "reeve/client";
import { createRuntime } from "reeve";
import { apiKeys, createApiKey, type Scope } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { loopbackSettings, openReceiver } from "../webhooks/receiver.ts";
import { ask, codeOf } from "./ask.ts";
import { counter, TestServer, inAYear } from "./test-server.ts";

async function stage() {
  const store = memoryStore();
  const webhooks = { ...loopbackSettings, maxAttempts: 1 };
  const runtime = createRuntime({ agents: [counter], store, webhooks });
  const site = await TestServer.open({ runtime, auth: apiKeys(store.apiKeys) });
  const newKey = async (tenant: string, scopes: readonly Scope[], user?: string): Promise<string> => {
    const { key, record } = createApiKey({ tenant, scopes, expiresAt: inAYear, ...(user && { user }) });
    await store.apiKeys.put(record);
    return key;
  };
  return { site, newKey };
}

test("a client sets a webhook, reads its dead deliveries and has them sent again", async () => {
  const { site, newKey } = await stage();
  let status = 500;
  const secrets: string[] = [];
  await using receiver = await openReceiver({ secrets: () => secrets, answer: () => status });
  const client = createClient({ url: site.url, key: await newKey("acme", ["admin", "run", "read"]) });
  const { webhooks } = client;
  const { secret = "" } = await webhooks.set("ops", { url: receiver.url, events: ["run.end"] });
  secrets.push(secret);
  expect(await webhooks.list()).toEqual([
    { id: "ops", url: receiver.url, events: ["run.end"], allRuns: false, setAt: expect.any(Number) },
  ]);
  const run = await client.start("counter", "count", { id: "t1" });
  await run.signal("count", 0);
  await expect.poll(() => webhooks.get("ops")).toMatchObject({ pending: 0, dead: 1 });
  const { items } = await webhooks.deliveries("ops", { status: "dead" });
  expect(items).toMatchObject([{ treeId: "t1", event: "run.end", attempts: 1, error: "status 500" }]);
  status = 200;
  const arrived = receiver.waitForCount(1);
  expect(await webhooks.redeliver("ops", { delivery: items[0]?.id ?? "" })).toBe(1);
  await arrived;
  expect(receiver.accepted).toMatchObject([{ type: "run.end", data: { treeId: "t1", status: "completed" } }]);
  secrets.push((await webhooks.rotateSecret("ops", { keepOldS: 0 })).secret);
  await webhooks.remove("ops");
  await expect(webhooks.get("ops")).rejects.toMatchObject({ code: "not-found" });
  await site[Symbol.asyncDispose]();
});

test("webhooks of a tenant are for its administrators, and for no other tenant", async () => {
  const { site, newKey } = await stage();
  const [acme, rival] = [await newKey("acme", ["admin"]), await newKey("rival", ["admin"])];
  const reader = await newKey("acme", ["read", "run", "approve"]);
  const bound = await newKey("acme", ["admin"], "ann");
  const url = "https://receiver.example/hook";
  const put = (key: string, body: object) => ask(`${site.url}/webhooks/ops`, "PUT", { key, body });
  for (const key of [reader, bound]) expect((await put(key, { url })).status).toBe(403);
  expect((await put(acme, { url })).status).toBe(200);
  const others = createClient({ url: site.url, key: rival }).webhooks;
  expect(await others.list()).toEqual([]);
  for (const verb of ["get", "deliveries", "rotateSecret", "remove", "redeliver"] as const)
    await expect(others[verb]("ops")).rejects.toMatchObject({ code: "not-found" });
  const named = await put(acme, { url, tenant: "rival" });
  expect([named.status, codeOf(named)]).toEqual([400, "tenant-not-allowed"]);
  for (const wrong of [
    { url: "https://127.0.0.2/" },
    { url: "ftp://receiver.example/" },
    { url, secret: "weak" },
    { url, events: ["run.start"] },
    { url, events: [] },
  ]) {
    const refused = await put(acme, wrong);
    expect([refused.status, codeOf(refused)]).toEqual([400, "invalid-request"]);
    expect(JSON.stringify(refused)).not.toContain("weak");
  }
  await site[Symbol.asyncDispose]();
});
