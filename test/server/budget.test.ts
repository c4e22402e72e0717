import { createApiKey, apiKeys } from "reeve/server";
import { expect, test } from "vitest";
import { codeOf } from "./ask.ts";
import { TestServer, inAYear } from "./test-server.ts";

test("an administrator sets, reads and removes the budgets of the tenant and its users", async () => {
  await using site = await TestServer.open();
  expect((await site.get("/budget")).json).toBeNull();
  const set = await site.post("/budget", { maxCostUsd: 2.5, per: "day" });
  expect(set.json).toMatchObject({ maxCostMicros: 2_500_000, maxTokens: null, per: "day" });
  await site.post("/budget", { user: "ann", maxTokens: 10, per: "ever" });
  expect((await site.get("/budget?user=ann")).json).toMatchObject({
    maxTokens: 10,
    until: null,
    spent: { tokens: 0, costMicros: 0 },
  });
  expect((await site.post("/budget/remove")).json).toEqual({});
  expect((await site.get("/budget")).json).toBeNull();
  expect((await site.get("/budget?user=ann")).json).toMatchObject({ maxTokens: 10 });
  expect((await site.get("/budget?user=ann", { key: site.keys.rival.admin })).json).toBeNull();
  const noted = async (): Promise<readonly object[]> => await site.runtime.audit.read({ tenant: "acme" });
  await expect.poll(noted).toMatchObject([
    { kind: "budget", data: { decision: "set", user: null } },
    { kind: "budget", data: { decision: "set", user: "ann" } },
    { kind: "budget", data: { decision: "removed", user: null } },
  ]);
});

test("a budget without a limit, and one of a key without a tenant, are refused with the reason", async () => {
  await using site = await TestServer.open();
  const empty = await site.post("/budget", { per: "day" });
  expect([empty.status, empty.text]).toEqual([400, expect.stringContaining("maxCostUsd or maxTokens")]);
  const { key, record } = createApiKey({ tenant: null, scopes: ["admin"], expiresAt: inAYear });
  await using withoutTenant = await TestServer.open({ auth: apiKeys([record]) });
  for (const reply of [
    await withoutTenant.get("/budget", { key }),
    await withoutTenant.post("/budget/remove", {}, { key }),
  ])
    expect([reply.status, codeOf(reply), reply.text]).toEqual([
      400,
      "invalid-request",
      expect.stringContaining("key: has no tenant"),
    ]);
});
