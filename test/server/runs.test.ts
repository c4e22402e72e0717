import { agent, ChatMessage, Json, type NumberedEvent, SessionId, TenantId, UserId } from "reeve";
import {
  type ApprovalDecision,
  type AuditHead,
  EntryId,
  type Page,
  type RunRecord,
  Session,
} from "reeve/store";
import { type RunLedger } from "#runtime";
import { call, manualModel, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { codeOf, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";

const openSite = async (...options: Parameters<typeof TestServer.open>): Promise<TestServer> =>
  closing(await TestServer.open(...options));

const statusAndCode = (reply: Reply): readonly unknown[] => [reply.status, codeOf(reply)];
const start = { agent: "counter", input: "count", id: "counting" };

/** Ends what counts, and waits until it has. */
async function end(site: TestServer, id: string): Promise<void> {
  await site.post(`/runs/${id}/signal`, { name: "count", data: 1, id: "1" });
  await site.runtime.run(id, { tenant: "acme" }).result();
}

test("agents are listed with their tools and limits, without their instructions", async () => {
  const site = await openSite();
  const version: unknown = expect.stringMatching(/^auto-/);
  const nothing = { version, team: [], budget: null, retention: null, guardrails: [], middleware: [] };
  const flow = { origin: "tool", trust: "trusted", sensitivity: "public", egress: true };
  const sendEmail = { name: "send_email", description: "Send an email", risk: "high", ...flow };
  expect((await site.get("/agents", { key: site.keys.acme.read })).json).toEqual({
    items: [
      {
        ...nothing,
        name: "writer",
        description: "Sends emails",
        model: expect.any(String),
        tools: [sendEmail],
      },
      { ...nothing, name: "counter", description: null, model: null, tools: [] },
    ],
  });
});

test("the same id again is the same tree, with another input it is a conflict", async () => {
  const site = await openSite();
  const first = await site.post("/runs", start);
  expect([first.status, first.json]).toEqual([202, { treeId: "counting", runId: "counting~0" }]);
  expect((await site.post("/runs", start)).json).toEqual(first.json);
  expect(statusAndCode(await site.post("/runs", { ...start, input: "other" }))).toEqual([409, "id-conflict"]);
  expect(statusAndCode(await site.post("/runs", { ...start, agent: "unknown" }))).toEqual([404, "not-found"]);
  expect(statusAndCode(await site.post("/runs", { ...start, id: "a~b" }))).toEqual([400, "invalid-request"]);
});

test("two tenants may give their trees the same id, and each sees its own", async () => {
  const site = await openSite();
  const key = site.keys.rival.admin;
  await site.post("/runs", start);
  expect((await site.post("/runs", { ...start, input: "rival's" }, { key })).status).toBe(202);
  await end(site, "counting");
  expect((await site.get("/runs/counting")).json).toMatchObject({ status: "completed" });
  expect((await site.get("/runs/counting", { key })).json).toMatchObject({ status: "waiting" });
});

test("runs are filtered and come in pages", async () => {
  const site = await openSite();
  for (const id of ["one", "two", "three"]) await site.post("/runs", { ...start, id, user: "ada" });
  await end(site, "two");
  const ids = async (query: string): Promise<unknown> => {
    const { json } = await site.get(`/runs?${query}`);
    const { items, next } = Json.as<Page<RunRecord>>(json);
    return [items.map(({ treeId }) => treeId).toSorted(), next];
  };
  await expect.poll(() => ids("status=completed")).toEqual([["two"], null]);
  await expect.poll(() => ids("user=ada&agent=counter&roots=true")).toEqual([["one", "three", "two"], null]);
  expect(await ids("user=ada&agent=counter&roots=true&status=completed")).toEqual([["two"], null]);
  expect(await ids("user=bob")).toEqual([[], null]);
  const first = Json.as<Page<RunRecord>>((await site.get("/runs?size=2")).json);
  const after = encodeURIComponent(first.next ?? "");
  const rest = Json.as<Page<RunRecord>>((await site.get(`/runs?size=2&after=${after}`)).json);
  expect([first.items.length, rest.items.length]).toEqual([2, 1]);
  for (const query of [
    "size=0",
    "size=1001",
    "size=x",
    "after=x",
    "status=odd",
    "roots=maybe",
    "size=1&size=2",
  ])
    expect(statusAndCode(await site.get(`/runs?${query}`))).toEqual([400, "invalid-request"]);
});

test("a tree's reservations and spend are shown while it runs and afterwards", async () => {
  const model = manualModel({ price: { input: 1_000_000, output: 2_000_000 } });
  const site = await openSite({ agents: [agent({ name: "thinker", model })] });
  await site.post("/runs", { agent: "thinker", input: "think", id: "thought", budget: { maxCostUsd: 1 } });
  await expect.poll(() => model.calls.length).toBe(1);
  const during = (await site.get("/runs/thought/ledger")).json;
  expect(during).toMatchObject({
    tree: {
      maxCostMicros: 1_000_000,
      settled: { costMicros: 0 },
      inDoubt: { costMicros: 0 },
      liveAgents: 1,
      maxAgents: 50,
    },
    run: { turns: 1 },
  });
  expect(Json.as<RunLedger>(during).tree.reserved.costMicros).toBeGreaterThan(0);
  for (let asked = 0; asked < 2; asked += 1)
    await site.post("/runs/thought/top-up", { maxCostUsd: 1, id: "more" });
  expect((await site.get("/runs/thought/result")).json).toBeNull();
  model.calls[0]?.answer("done");
  await site.runtime.run("thought", { tenant: "acme" }).result();
  expect((await site.get("/runs/thought/ledger")).json).toMatchObject({
    tree: { maxCostMicros: 2_000_000, settled: { costMicros: 20 }, reserved: { costMicros: 0 } },
    run: null,
  });
  expect((await site.get("/runs/thought/result")).json).toMatchObject({ output: "done", costMicros: 20 });
});

test("a run can be held, released, raised, steered and stopped", async () => {
  const model = manualModel();
  const site = await openSite({ agents: [agent({ name: "thinker", model })] });
  await site.post("/runs", { agent: "thinker", input: "think", id: "thought" });
  await expect.poll(() => model.calls.length).toBe(1);
  const status = async (): Promise<unknown> => (await site.get("/runs/thought")).json;
  expect((await site.post("/runs/thought/steer", { text: "in short", id: "1" })).json).toEqual({});
  model.calls[0]?.answer("well");
  await expect.poll(() => JSON.stringify(model.calls[1]?.request.messages ?? "")).toContain("in short");
  await site.post("/runs/thought/follow-up", { text: "and then?", id: "2" });
  model.calls[1]?.answer("well");
  await expect.poll(() => JSON.stringify(model.calls[2]?.request.messages ?? "")).toContain("and then?");
  await site.post("/runs/thought/pause", { id: "3" });
  expect(await status()).toMatchObject({ status: "paused" });
  await site.post("/runs/thought/resume", { id: "4" });
  expect(await status()).toMatchObject({ status: "running" });
  expect((await site.post("/runs/thought/reprioritize", { priority: "high", id: "5" })).status).toBe(200);
  const usage = { input: 1, output: 1 };
  expect((await site.post("/runs/thought/reconcile", { attempt: "none", usage })).json).toEqual({
    reconciled: false,
  });
  const receipt = await site.post("/runs/thought/cancel", { reason: "enough" });
  expect(receipt.json).toMatchObject({ reason: "enough", runs: [{ runId: "thought~0" }] });
  expect(await status()).toMatchObject({ status: "cancelled" });
  expect(statusAndCode(await site.post("/runs/thought/pause", { id: "6" }))).toEqual([409, "run-ended"]);
});

test.each([
  ["steer", { text: "in short" }],
  ["follow-up", { text: "and then?" }],
  ["signal", { name: "count" }],
  ["pause", {}],
  ["resume", {}],
  ["reprioritize", { priority: "high" }],
  ["top-up", { maxCostUsd: 1 }],
])("%s without an operation id is refused", async (action, body) => {
  const site = await openSite({ agents: [agent({ name: "thinker", model: manualModel() })] });
  await site.post("/runs", { agent: "thinker", input: "think", id: "thought" });
  const refused = await site.post(`/runs/thought/${action}`, body);
  expect([refused.status, JSON.stringify(refused.json)]).toEqual([400, expect.stringContaining("id")]);
});

test("an operation repeated under its id changes nothing, even after another actor's operation", async () => {
  const model = manualModel();
  const site = await openSite({ agents: [agent({ name: "thinker", model })] });
  await site.post("/runs", { agent: "thinker", input: "think", id: "thought" });
  await expect.poll(() => model.calls.length).toBe(1);
  const act = async (name: string, body: object): Promise<void> => {
    expect((await site.post(`/runs/thought/${name}`, body)).status).toBe(200);
  };
  const status = async (): Promise<unknown> => (await site.get("/runs/thought")).json;
  await act("pause", { id: "ada-1" });
  await act("resume", { id: "bob-1" });
  await act("pause", { id: "ada-1" });
  expect(await status()).toMatchObject({ status: "running" });
  await act("pause", { id: "bob-2" });
  await act("resume", { id: "bob-1" });
  expect(await status()).toMatchObject({ status: "paused" });
  await act("resume", { id: "ada-2" });
  await act("reprioritize", { priority: "high", id: "ada-3" });
  await act("reprioritize", { priority: "low", id: "bob-3" });
  await act("reprioritize", { priority: "high", id: "ada-3" });
  for (let time = 0; time < 2; time++) {
    await act("steer", { text: "in short", id: "ada-4" });
    await act("follow-up", { text: "and then?", id: "ada-5" });
    await act("top-up", { maxTokens: 5, id: "ada-6" });
    await act("signal", { name: "unused", id: "ada-7" });
  }
  await act("cancel", { reason: "enough" });
  const events: NumberedEvent[] = [];
  for await (const event of site.runtime.run("thought", { tenant: "acme" }).events()) events.push(event);
  const count = (type: NumberedEvent["type"]): number => events.filter((event) => event.type === type).length;
  expect([count("run.reprioritized"), count("budget.topped-up"), count("message.dead-lettered")]).toEqual([
    2, 1, 2,
  ]);
});

/** A writer that waits for approval, and the question. */
async function startAskingRun(site: TestServer): Promise<string> {
  await site.post("/runs", { agent: "writer", input: "send", id: "estate" });
  const run = site.runtime.run("estate", { tenant: "acme" });
  for await (const event of run.events()) if (event.type === "approval.requested") return event.approvalId;
  return "";
}

test.each([
  ["approve", {}, "sent to team"],
  ["edit", { arguments: { to: "press" } }, "sent to press"],
  ["deny", { reason: "not that one" }, "not that one"],
] as const)("a call is answered once, by the holder of the key: %s", async (verb, body, heard) => {
  const model = scriptedModel([call("send_email", { to: "team" }), say("so be it")]);
  const site = await openSite({ agents: [approvalAgent(model)] });
  const id = await startAskingRun(site);
  const key = site.keys.acme.approve;
  await expect.poll(async () => (await site.get("/approvals?state=pending&tree=estate")).text).toContain(id);
  const path = `/approvals/${encodeURIComponent(id)}/${verb}`;
  expect(statusAndCode(await site.post(path, { ...body, hash: "another" }, { key }))).toEqual([
    409,
    "approval-refused",
  ]);
  const decided = await site.post(path, body, { key });
  expect([decided.status, Json.as<ApprovalDecision>(decided.json).by]).toEqual([200, key.split("_")[1]]);
  expect(statusAndCode(await site.post(path, body, { key }))).toEqual([409, "approval-refused"]);
  await site.runtime.run("estate", { tenant: "acme" }).result();
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(heard);
});

test("conversations are listed and read", async () => {
  const site = await openSite();
  const { sessions } = site.runtime.store;
  const key = { id: SessionId.of("a-talk/about-it"), userId: UserId.of("ann") };
  const session = new Session(sessions, { tenantId: TenantId.of("acme") }, key);
  await session.open({ startedAt: 1 });
  await session.append([
    { id: EntryId.of("1"), at: 1, type: "message", message: ChatMessage.user("Who?") },
    { id: EntryId.of("2"), at: 2, type: "message", message: ChatMessage.assistant("Them.") },
  ]);
  expect((await site.get("/sessions")).json).toMatchObject({ items: [{ id: "a-talk/about-it" }] });
  const path = `/sessions/${encodeURIComponent("a-talk/about-it")}/entries`;
  expect((await site.get(`${path}?user=ann`)).json).toMatchObject({
    leaf: "2",
    items: [{ id: "1" }, { id: "2" }],
  });
  expect((await site.get(path)).status).toBe(404);
  expect((await site.get(`${path}?user=bob`)).status).toBe(404);
  expect((await site.get(`${path}?user=ann&after=1&size=1`)).json).toMatchObject({ items: [{ id: "2" }] });
});

test("every run of a tree is shown to a caller with its id", async () => {
  const site = await openSite();
  await site.post("/runs", start);
  await expect
    .poll(async () => (await site.get("/runs/counting/tree")).json)
    .toMatchObject({ treeId: "counting", items: [{ runId: "counting~0", agentId: "counter" }] });
});

test("the audit reports the actor of each decision, and whether the audit was changed", async () => {
  const site = await openSite();
  const id = await startAskingRun(site);
  const key = site.keys.acme.approve;
  await site.post(`/approvals/${encodeURIComponent(id)}/deny`, {}, { key });
  await site.runtime.run("estate", { tenant: "acme" }).result();
  await expect.poll(async () => (await site.get("/audit")).text).toContain(key.split("_")[1]);
  const { json: head } = await site.get("/audit/head");
  const { index, hash } = Json.as<AuditHead>(head);
  expect((await site.post("/audit/verify", { head: { index, hash } })).json).toMatchObject({ ok: true });
  const forged = await site.post("/audit/verify", { head: { index, hash: "0".repeat(64) } });
  expect(forged.json).toMatchObject({ ok: false });
  expect((await site.get("/audit", { key: site.keys.rival.admin })).json).toEqual({
    items: [],
    next: null,
  });
});
