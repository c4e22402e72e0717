import { type Agent, AgentId, createRuntime } from "reeve";
import { type ScheduleDetails } from "#runtime";
import { type StartLimits } from "#kernel";
import { createClient } from "reeve/client";
import { local } from "reeve/engines/local";
import { apiKeys, createApiKey, type Scope } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { manualClock, type ManualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { ask, codeOf, type Reply } from "./ask.ts";
import { TestServer } from "./test-server.ts";

const hour = 3_600_000;

/** Waits, so that its limits can be read. */
const patient: Agent = { id: AgentId.of("patient"), run: async (ctx) => ctx.waitFor("end") };

interface Stage extends AsyncDisposable {
  readonly site: TestServer;
  readonly clock: ManualClock;
  /** Makes a key that the store has. */
  newKey(scopes: readonly Scope[], more?: { user?: string; limits?: StartLimits }): Promise<string>;
  put(id: string, body: object, key: string): Promise<Reply>;
}

async function stage(): Promise<Stage> {
  const clock = manualClock();
  const store = memoryStore();
  const runtime = createRuntime({ agents: [patient], store, clock, engine: local({ clock }) });
  const site = await TestServer.open({ runtime, auth: apiKeys(store.apiKeys, { clock }) });
  return {
    site,
    clock,
    newKey: async (scopes, more = {}) => {
      const expiresAt = clock.now() + 100 * hour;
      const { key, record } = createApiKey({ tenant: "acme", scopes, expiresAt, ...more });
      await store.apiKeys.put(record);
      return key;
    },
    put: (id, body, key) =>
      ask(`${site.url}/schedules/${id}`, "PUT", {
        key,
        body: { agent: "patient", input: "go", cron: "0 * * * *", ...body },
      }),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

const limits = { budget: { maxTokens: 1_000 }, maxAgents: 3, priority: "low" } as const;

test("a schedule is set, read, listed, paused and removed by a client", async () => {
  await using at = await stage();
  const key = await at.newKey(["run", "read", "content"]);
  const { schedules } = createClient({ url: at.site.url, key });
  const settings = { agent: "patient", input: "go", cron: "30 9 * * 1-5", timeZone: "Europe/Berlin" };
  const set = await schedules.set("news", { ...settings, budget: { maxTokens: 5 } });
  expect(set).toMatchObject({ id: "news", user: null, agent: "patient", budget: { maxTokens: 5 } });
  expect(new Date(set.nextAt ?? 0).toISOString()).toBe("2026-01-01T08:30:00.000Z");
  expect(await schedules.get("news")).toMatchObject({ input: "go", catchUp: "latest", overlap: "start" });
  expect((await schedules.list()).items.map(({ id }) => id)).toEqual(["news"]);
  expect((await schedules.pause("news")).nextAt).toBeNull();
  expect((await schedules.resume("news")).nextAt).toBe(set.nextAt);
  await schedules.remove("news");
  await expect(schedules.get("news")).rejects.toMatchObject({ code: "not-found" });
  await expect(schedules.remove("news")).rejects.toMatchObject({ code: "not-found" });
  await expect(schedules.pause("news")).rejects.toMatchObject({ code: "not-found" });
  expect((await schedules.list()).items).toEqual([]);
});

test("the limits of the key that set a schedule hold at each tick", async () => {
  await using at = await stage();
  const key = await at.newKey(["run", "read"], { limits });
  const refused = await at.put("big", { budget: { maxTokens: 1_001 } }, key);
  expect([refused.status, codeOf(refused)]).toEqual([403, "limit-exceeded"]);
  expect((await at.put("each", {}, key)).status).toBe(200);
  for (const tick of [1, 2]) {
    await at.clock.advance(hour);
    const { last } = (await at.site.runtime.schedules.get("each", { tenant: "acme" })) ?? {};
    expect(last).toMatchObject({ outcome: "started", tick: at.clock.now() });
    const { tree } = await at.site.runtime.run(last?.treeId ?? "", { tenant: "acme" }).ledger();
    expect([tick, tree.maxTokens, tree.maxAgents]).toEqual([tick, 1_000, 3]);
  }
});

test("once the key that set it is revoked, a schedule starts nothing until another key sets it", async () => {
  await using at = await stage();
  const [key, other] = [await at.newKey(["run"]), await at.newKey(["run", "read"])];
  await at.put("each", {}, key);
  const id = key.split("_")[1] ?? "";
  const last = async (): Promise<ScheduleDetails["last"]> =>
    (await createClient({ url: at.site.url, key: other }).schedules.get("each")).last;
  await at.site.runtime.store.apiKeys.revoke("acme", id);
  await at.clock.advance(hour);
  expect(await last()).toMatchObject({ outcome: "failed", error: "key-revoked", treeId: null });
  await at.put("each", {}, other);
  await at.clock.advance(hour);
  expect(await last()).toMatchObject({ outcome: "started", error: null });
});

test("trees of a user's schedule are the user's, and no other user reaches it", async () => {
  await using at = await stage();
  const ada = await at.newKey(["run", "read"], { user: "ada" });
  const bob = await at.newKey(["run", "read"], { user: "bob" });
  await at.put("each", {}, ada);
  await at.clock.advance(hour);
  const adas = createClient({ url: at.site.url, key: ada });
  // The store lists a tree a little later.
  await expect
    .poll(async () => {
      await at.clock.advance(1_000);
      return (await adas.runs({ roots: "true" })).items.map(({ agentId }) => agentId);
    })
    .toEqual(["patient"]);
  const { schedules } = createClient({ url: at.site.url, key: bob });
  await expect(schedules.get("each")).rejects.toMatchObject({ code: "not-found" });
  await expect(schedules.get("each", { user: "ada" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(schedules.remove("each", { user: "ada" })).rejects.toMatchObject({ code: "forbidden" });
  expect((await schedules.list()).items).toEqual([]);
});

test.each([
  ["each", { cron: "61 * * * *" }, 400, /minute: 61/],
  ["each", { cron: "0 0 30 2 *" }, 400, /no tick/],
  ["each", { timeZone: "Berlin" }, 400, /IANA/],
  ["each", { catchUp: "some" }, 400, /catchUp/],
  ["each", { session: "talk" }, 400, /unknown field .*session.*; fields: user, input/],
  ["a%2Fb", {}, 400, /must be the id of a schedule/],
  ["each", { agent: "stranger" }, 404, /stranger/],
  ["each", { user: "ada" }, 403, /act for users/],
])("PUT /schedules/%s with %j is refused with %i", async (id, body, status, message) => {
  await using at = await stage();
  const reply = await at.put(id, body, await at.newKey(["run"]));
  expect(reply.status).toBe(status);
  expect(reply.text).toMatch(message);
});

test("a key that may only read sets and removes nothing", async () => {
  await using at = await stage();
  const key = await at.newKey(["read"]);
  expect((await at.put("each", {}, key)).status).toBe(403);
  expect((await ask(`${at.site.url}/schedules/each`, "DELETE", { key })).status).toBe(403);
});

test("ticks that follow each other too fast are refused, and a schedule above the most of a user", async () => {
  const clock = manualClock();
  const engine = local({ clock });
  const schedules = { maxPerUser: 1 };
  const runtime = createRuntime({ agents: [patient], store: memoryStore(), clock, engine, schedules });
  await using site = await TestServer.open({ runtime });
  const put = (id: string, cron: string, user: string): Promise<Reply> =>
    ask(`${site.url}/schedules/${id}`, "PUT", {
      key: site.keys.acme.admin,
      body: { agent: "patient", input: "go", cron, user },
    });
  for (const cron of ["* * * * * *", "0,30 0 9 * * *"]) {
    const reply = await put("fast", cron, "ann");
    expect([reply.status, reply.text]).toEqual([
      400,
      expect.stringContaining("must tick at most every 60 s"),
    ]);
  }
  expect((await put("one", "* * * * *", "ann")).status).toBe(200);
  const full = await put("two", "0 9 * * *", "ann");
  expect([full.status, full.text]).toEqual([
    400,
    expect.stringContaining("a user may have at most 1 schedules"),
  ]);
  expect((await put("one", "0 9 * * *", "ann")).status).toBe(200);
  expect((await put("two", "0 9 * * *", "bob")).status).toBe(200);
});

test("a key may allow fewer and slower schedules than the server, not faster ones: for its user or, without one, for the tenant", async () => {
  const few = { schedules: 1, scheduleIntervalS: 3_600 };
  const options = { tenant: "acme", scopes: ["run"], expiresAt: Date.now() + hour, limits: few } as const;
  const [bound, unbound, free, faster] = [
    createApiKey({ ...options, user: "ann" }),
    createApiKey({ ...options, scopes: ["run", "act-for-users"] }),
    createApiKey({ ...options, user: "ann", limits: {} }),
    createApiKey({ ...options, user: "ann", limits: { scheduleIntervalS: 1 } }),
  ];
  const auth = apiKeys([bound, unbound, free, faster].map(({ record }) => record));
  const runtime = createRuntime({
    agents: [patient],
    store: memoryStore(),
    engine: local({ clock: manualClock() }),
  });
  await using site = await TestServer.open({ runtime, auth });
  const put = async (key: string, id: string, body: object = {}): Promise<unknown> => {
    const schedule = { agent: "patient", input: "go", cron: "0 * * * *", ...body };
    const reply = await ask(`${site.url}/schedules/${id}`, "PUT", { key, body: schedule });
    return reply.status === 200 ? 200 : reply.text;
  };
  expect(await put(bound.key, "fast", { cron: "0,30 * * * *" })).toContain("must tick at most every 3600 s");
  expect(await put(bound.key, "one")).toBe(200);
  expect(await put(bound.key, "two")).toContain("a user may have at most 1 schedules");
  expect(await put(unbound.key, "three", { user: "bob" })).toContain("a tenant may have at most 1 schedules");
  expect(await put(free.key, "two", { cron: "* * * * *" })).toBe(200);
  expect(await put(faster.key, "six", { cron: "*/10 * * * * *" })).toContain("must tick at most every 60 s");
});
