import { createRuntime } from "reeve";
import { apiKeys, createApiKey } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { counter, inAYear, TestServer } from "./test-server.ts";

const { key, record } = createApiKey({
  tenant: "acme",
  scopes: ["read", "run", "admin"],
  expiresAt: inAYear,
});
const runtime = createRuntime({ agents: [counter], store: memoryStore() });
let site: TestServer;

beforeAll(async () => {
  site = await TestServer.open({ runtime, auth: apiKeys([record]) });
});

afterAll(() => site[Symbol.asyncDispose]());

const line = (field: string, max = 256): string => `${field}: must be one line of 1 to ${max} characters`;
const dollars = (field: string): string => `${field}: must be a number from 0 to 9007199254`;
const seconds = (field: string): string => `${field}: must be a number from 0 to 1000000000000`;
const start = { agent: "counter", input: "go" };

test.each([
  ["/runs", { ...start, name: "re\0port" }, line("body.name", 120)],
  ["/runs", { ...start, name: "two\nlines" }, line("body.name", 120)],
  ["/runs", { ...start, channel: "c\u001b[31m" }, line("body.channel")],
  ["/runs", { ...start, budget: { maxCostUsd: 9.3e12 } }, dollars("body.budget.maxCostUsd")],
  ["/runs", { ...start, budget: { maxCostUsd: 1e300 } }, dollars("body.budget.maxCostUsd")],
  ["/runs", { ...start, budget: { deadlineS: 1e300 } }, seconds("body.budget.deadlineS")],
  ["/runs", { ...start, deadlineS: 1e300 }, seconds("body.deadlineS")],
  ["/runs/report/top-up", { maxCostUsd: 9.3e12 }, dollars("body.maxCostUsd")],
  ["/runs/report/signal", { name: "co\0unt" }, line("body.name")],
  ["/budget", { maxCostUsd: 9.3e12, per: "day" }, dollars("body.maxCostUsd")],
  ["/sessions", { agent: "counter", channel: "c\0" }, line("body.channel")],
])("POST %s with %j is refused at once", async (path, body, message) => {
  const { status, json } = await site.post(path, body, { key });
  expect({ status, json }).toMatchObject({
    status: 400,
    json: { error: { code: "invalid-request", message } },
  });
});

test.each(["/runs?name=%00", "/runs?agent=a%0ab", "/spend?by=model&model=%00", "/approvals?tool=%00"])(
  "GET %s is refused at once",
  async (path) => {
    const { status, json } = await site.get(path, { key });
    expect({ status, json }).toMatchObject({ status: 400, json: { error: { code: "invalid-request" } } });
  },
);

test("the largest amounts are accepted", async () => {
  const budget = { maxCostUsd: 9_007_199_254, maxTokens: 2 ** 53 - 1, maxTurns: 2 ** 53 - 1 };
  const body = { ...start, id: "large", budget, deadlineS: 1e12 };
  expect((await site.post("/runs", body, { key })).status).toBe(202);
  const raised = await site.post(
    "/runs/large/top-up",
    { maxCostUsd: budget.maxCostUsd, id: "more" },
    { key },
  );
  expect(raised.status).toBe(200);
  const { tree } = await runtime.run("large", { tenant: "acme" }).ledger();
  expect(tree).toMatchObject({ maxTokens: 2 ** 53 - 1, maxCostMicros: 2 ** 53 - 1 });
  await runtime.run("large", { tenant: "acme" }).cancel();
});

test("a program that starts a tree with such a name or amount gets an error that names it", async () => {
  await expect(runtime.start(counter, "go", { name: "re\0port" })).rejects.toThrow(
    'name must be one line without control characters, got "re\\u0000port"',
  );
  await expect(runtime.start(counter, "go", { budget: { maxCostUsd: 9.3e12 } })).rejects.toThrow(
    "maxCostUsd must be a number from 0 to 9007199254, got 9300000000000",
  );
  const setBudget = runtime.tenants.setBudget({ tenant: "acme" }, { maxCostUsd: 9.3e12, per: "day" });
  await expect(setBudget).rejects.toThrow("maxCostUsd must be a number from 0 to 9007199254");
});
