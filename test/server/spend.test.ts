import { agent, type Agent, Json } from "reeve";
import { apiKeys, createApiKey } from "reeve/server";
import { manualModel, say, scriptedModel } from "reeve/testing";
import { expect, onTestFinished, test } from "vitest";
import { codeOf } from "./ask.ts";
import { TestServer, inAYear } from "./test-server.ts";

interface Doubt {
  readonly attempt: string;
  readonly runId: string;
  readonly costMicros: number;
}

const price = { input: 1_000_000, output: 2_000_000 };

const createAgent = (name: string, model = `=${name}`): Agent =>
  agent({
    name,
    description: "Says a word",
    model: { ...scriptedModel([say("done")], { price }), id: model },
  });

async function openSite(agents: readonly Agent[]): Promise<TestServer> {
  const site = await TestServer.open({ agents });
  onTestFinished(() => site[Symbol.asyncDispose]());
  return site;
}

async function run(site: TestServer, agentName: string, fields: object = {}): Promise<number> {
  const begun = await site.post("/runs", { agent: agentName, input: "go", ...fields });
  const { treeId } = Json.as<{ treeId: string }>(begun.json);
  const handle = site.runtime.run(treeId, { tenant: "acme" });
  for await (const _ of handle.events()) continue;
  return (await handle.ledger()).tree.settled.costMicros;
}

test("spend is reported by agent, model, user, day and tree, exact to the micro-dollar, only to its tenant", async () => {
  const site = await openSite([createAgent("lead"), createAgent("writer")]);
  const lead = await run(site, "lead", { id: "first" });
  const writer = await run(site, "writer", { id: "second" });
  expect(lead).toBeGreaterThan(0);
  const today = new Date().toISOString().slice(0, 10);
  const by = async (names: string): Promise<unknown> => (await site.get(`/spend?by=${names}`)).json;
  expect(await by("agent")).toMatchObject({
    more: false,
    items: [
      { agent: "lead", settledMicros: lead, inDoubtMicros: 0, calls: 1, runs: 1, stopped: 0, denied: 0 },
      { agent: "writer", settledMicros: writer, runs: 1 },
    ],
  });
  expect(await by("day")).toMatchObject({ items: [{ day: today, settledMicros: lead + writer }] });
  expect(await by("tree,model")).toMatchObject({
    items: [
      { tree: "first", model: "=lead", settledMicros: lead },
      { tree: "second", model: "=writer" },
      { tree: "first", model: "" },
      { tree: "second", model: "" },
    ],
  });
  expect((await site.get("/spend?by=agent&model==lead")).json).toMatchObject({
    items: [{ agent: "lead" }],
  });
  expect((await site.get("/spend?from=0&to=3600000")).json).toMatchObject({ items: [] });
  const rival = { key: site.keys.rival.read };
  expect((await site.get("/spend", rival)).json).toMatchObject({ items: [] });
  expect(codeOf(await site.get("/spend?by=secret"))).toBe("invalid-request");
});

test("CSV has a row for each group, and no cell that a spreadsheet would execute", async () => {
  const site = await openSite([
    createAgent("lead", '=HYPERLINK("http://x","y")'),
    createAgent("w", "@SUM(1)"),
  ]);
  const cost = await run(site, "lead");
  await run(site, "w");
  const reply = await fetch(`${site.url}/spend?by=model`, {
    headers: { authorization: `Bearer ${site.keys.acme.read}`, accept: "text/csv" },
  });
  expect(reply.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(reply.headers.get("content-disposition")).toContain("attachment");
  const [header, ...rows] = (await reply.text()).trimEnd().split("\r\n");
  expect(header).toBe(
    "model,calls,inputTokens,outputTokens,cachedTokens,settledMicros,inDoubtMicros,runs,stopped,denied",
  );
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatch(
    new RegExp(`^"'=HYPERLINK\\(""http://x"",""y""\\)",1,\\d+,\\d+,0,${cost},0,0,0,0$`),
  );
  expect(rows[1]).toMatch(/^'@SUM\(1\),1,/);
});

test("a key of one user sees the money of that user alone", async () => {
  const [ann, all] = [
    createApiKey({ tenant: "acme", user: "ann", scopes: ["read"], expiresAt: inAYear }),
    createApiKey({ tenant: "acme", scopes: ["admin"], expiresAt: inAYear }),
  ];
  const lead = createAgent("lead");
  const site = await TestServer.open({ agents: [lead], auth: apiKeys([ann.record, all.record]) });
  onTestFinished(() => site[Symbol.asyncDispose]());
  for (const user of ["ann", "bob"]) {
    const handle = await site.runtime.start(lead, "go", { tenant: "acme", user });
    for await (const _ of handle.events()) continue;
  }
  const users = async (key: string): Promise<unknown> => (await site.get("/spend?by=user", { key })).json;
  expect(await users(ann.key)).toMatchObject({ items: [{ user: "ann" }] });
  expect(await users(all.key)).toMatchObject({ items: [{ user: "ann" }, { user: "bob" }] });
  expect(codeOf(await site.get("/spend?user=bob", { key: ann.key }))).toBe("forbidden");
});

test("the most expensive users have groups, and all others are one group without a user", async () => {
  const lead = createAgent("lead");
  const site = await openSite([lead]);
  const trees = { ann: 2, bob: 3, cleo: 4, dan: 1 };
  let cost = 0;
  for (const [user, count] of Object.entries(trees))
    for (let tree = 0; tree < count; tree += 1) {
      const handle = await site.runtime.start(lead, "go", { tenant: "acme", user });
      for await (const _ of handle.events()) continue;
      cost = (await handle.ledger()).tree.settled.costMicros;
    }
  expect(cost).toBeGreaterThan(0);
  const day = new Date().toISOString().slice(0, 10);
  const items = async (query: string): Promise<readonly { readonly user?: string }[]> =>
    Json.as<{ items: readonly { user?: string }[] }>((await site.get(`/spend?${query}`)).json).items;
  const found = await items("by=day,user&topUsers=2");
  const figures = (count: number): object => ({ settledMicros: count * cost, calls: count, runs: count });
  expect(found).toMatchObject([
    { day, user: "cleo", ...figures(4) },
    { day, user: "bob", ...figures(3) },
    { day, ...figures(3) },
  ]);
  expect(found.map((sum) => "user" in sum)).toEqual([true, true, false]);
  expect(await items("by=user&topUsers=4")).toEqual(await items("by=user"));
  expect(await items("by=day&topUsers=2")).toEqual(await items("by=day"));
  const files = await fetch(`${site.url}/spend?by=user&topUsers=1`, {
    headers: { authorization: `Bearer ${site.keys.acme.read}`, accept: "text/csv" },
  });
  const [, ...rows] = (await files.text()).trimEnd().split("\r\n");
  expect(rows.map((line) => line.split(",")[0])).toEqual(["", "cleo"]);
  for (const refused of ["0", "10001", "-1", "1.5", "x"])
    expect(codeOf(await site.get(`/spend?by=user&topUsers=${refused}`))).toBe("invalid-request");
});

test("a call in doubt is listed with its price, settled by an administrator, and then removed", async () => {
  const model = manualModel({ id: "silent", price });
  const silent = agent({ name: "silent", description: "Waits", model, maxOutputTokens: 100 });
  const site = await openSite([silent]);
  await site.post("/runs", { agent: "silent", input: "go", id: "lost", budget: { maxCostUsd: 1 } });
  await expect.poll(() => model.calls.length).toBe(1);
  const live = async (): Promise<{ readonly reservedMicros: number }> =>
    Json.as<{ live: { reservedMicros: number } }>((await site.get("/tenant")).json).live;
  await expect.poll(async () => (await live()).reservedMicros).toBeGreaterThan(200);
  expect(await live()).toMatchObject({ trees: 1, agents: 1, inDoubtMicros: 0 });
  await site.post("/runs/lost/cancel");
  const doubts = async (): Promise<readonly Doubt[]> =>
    Json.as<{ items: readonly Doubt[] }>((await site.get("/spend/in-doubt")).json).items;
  await expect.poll(async () => (await doubts()).length).toBe(1);
  const [doubt] = await doubts();
  expect(doubt).toMatchObject({ treeId: "lost", agentType: "silent", model: "silent" });
  const path = `/runs/${encodeURIComponent(doubt?.runId ?? "")}`;
  const attempt = encodeURIComponent(doubt?.attempt ?? "");
  expect((await site.get(`${path}/doubts/${attempt}`)).json).toMatchObject({
    price,
    ceiling: { costMicros: doubt?.costMicros },
  });
  expect((await site.get(`${path}/doubts/other`)).json).toBeNull();
  const bill = { attempt: doubt?.attempt, usage: { input: 3, output: 5 } };
  const read = { key: site.keys.acme.read };
  expect(codeOf(await site.post(`${path}/reconcile`, bill, read))).toBe("forbidden");
  expect((await site.post(`${path}/reconcile`, bill)).json).toEqual({ reconciled: true });
  await expect.poll(doubts).toEqual([]);
  expect((await site.get("/spend?by=agent")).json).toMatchObject({
    items: [{ settledMicros: 13, inDoubtMicros: 0 }],
  });
});

test("the account of the tenant shows its budget, its leases, and the spend of today", async () => {
  const site = await openSite([createAgent("lead")]);
  await site.post("/budget", { maxCostUsd: 2, per: "day" });
  const cost = await run(site, "lead");
  const read = { key: site.keys.acme.read };
  expect((await site.get("/tenant", read)).json).toMatchObject({
    budget: { maxCostMicros: 2_000_000, per: "day", spent: { costMicros: cost }, lent: { costMicros: 0 } },
    live: { trees: 0, agents: 0, reservedMicros: 0 },
    today: { settledMicros: cost },
    thisHour: { settledMicros: cost },
  });
});

test("trees are found by id, name and cost, and a filter without an index is refused with a message", async () => {
  const site = await openSite([createAgent("lead")]);
  await run(site, "lead", { id: "alpha", name: "Quarterly report" });
  await run(site, "lead", { id: "beta" });
  const ids = async (query: string): Promise<unknown> =>
    Json.as<{ items: { treeId: string }[] }>((await site.get(`/runs?${query}`)).json).items.map(
      ({ treeId }) => treeId,
    );
  expect(await ids("id=al")).toEqual(["alpha"]);
  expect(await ids("name=Quarter")).toEqual(["alpha"]);
  expect(await ids("minSpend=1&size=1")).toHaveLength(1);
  expect(await ids("minSpend=99999999")).toEqual([]);
  expect(await ids("stop=answer,deadline&roots=true")).toEqual(["beta", "alpha"]);
  expect(await ids("asks=true")).toEqual([]);
  const refused = async (query: string): Promise<unknown> => (await site.get(`/runs?${query}`)).json;
  expect(await refused("id=a&status=failed")).toMatchObject({
    error: { code: "invalid-request", message: expect.stringContaining("cannot be combined with status") },
  });
  expect(await refused("stop=answer&agent=lead")).toMatchObject({
    error: { message: expect.stringContaining("cannot be combined with agent") },
  });
  expect(await refused("name=a&minSpend=1")).toMatchObject({ error: { code: "invalid-request" } });
});
