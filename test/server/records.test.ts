import { agent, ChatMessage, Json, retry, SessionId, tool, UserId } from "reeve";
import { type AuditEntry, EntryId, Partition, Session, type SessionEntry } from "reeve/store";
import { isJsonObject, type JsonObject } from "#kernel";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { withoutContent } from "../../src/server/routes/session-entries.ts";
import { ask } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";

const price = { input: 1_000, output: 1_000 };

/** A tree whose only question was decided. */
async function openDecidedSite(): Promise<TestServer> {
  const sale = [call("send_email", { to: "team" }), say("sent it")] as const;
  const site = closing(await TestServer.open({ agents: [approvalAgent(scriptedModel([...sale, ...sale]))] }));
  for (const id of ["t1", "t2"]) {
    await site.post("/runs", { agent: "writer", input: "send", id });
    const pending = async (): Promise<readonly { readonly id: string }[]> =>
      (await site.runtime.approvals.list({ tenant: "acme", tree: id, state: "pending" })).items;
    await expect.poll(async () => (await pending()).length).toBe(1);
    const [question] = await pending();
    await site.post(`/approvals/${encodeURIComponent(question?.id ?? "")}/approve`);
    await site.runtime.run(id, { tenant: "acme" }).result();
  }
  return site;
}

const linksOf = async (site: TestServer, query = ""): Promise<readonly AuditEntry[]> => {
  const { json } = await site.get(`/audit${query}`);
  return Json.as<{ readonly items: readonly AuditEntry[] }>(json).items;
};

test("the audit is listed newest first, by kind, tree, run and page", async () => {
  const site = await openDecidedSite();
  const decided = async (): Promise<number> =>
    (await linksOf(site, "?kind=approval")).filter(({ data }) => isJsonObject(data) && "by" in data).length;
  await expect.poll(decided).toBe(2);
  const all = await linksOf(site);
  expect(all.map(({ index }) => index)).toEqual(all.map((_, place) => all.length - 1 - place));
  const approvals = await linksOf(site, "?kind=approval");
  expect(approvals.map(({ data }) => isJsonObject(data) && data["decision"])).toEqual([
    "approved",
    "requested",
    "approved",
    "requested",
  ]);
  const first = await linksOf(site, "?tree=t1");
  expect(first.length).toBeGreaterThan(2);
  expect(first.length).toBeLessThan(all.length);
  expect(await linksOf(site, "?run=t1~0")).toEqual(first);
  expect(await linksOf(site, "?tree=t")).toEqual([]);
  // Its source begins with `budget/`, and it is about no tree.
  await site.post("/budget", { maxTokens: 1_000_000, per: "day" });
  await expect.poll(async () => (await linksOf(site, "?kind=budget")).length).toBe(1);
  expect(await linksOf(site, "?tree=budget")).toEqual([]);
  const { json } = await site.get("/audit?kind=approval&size=3");
  const { items, next } = Json.as<{
    readonly items: readonly AuditEntry[];
    readonly next: number;
  }>(json);
  expect(items).toEqual(approvals.slice(0, 3));
  expect(await linksOf(site, `?kind=approval&size=3&before=${next}`)).toEqual(approvals.slice(3));
});

test("the verdict of a verification is kept with its time, and its progress is a stream", async () => {
  const site = await openDecidedSite();
  expect((await site.get("/audit/report")).json).toBe(null);
  await site.post("/audit/verify");
  const { json: report } = await site.get("/audit/report");
  expect(report).toMatchObject({ hadHead: false, verdict: { ok: true } });
  expect((await site.get("/audit/report", { key: site.keys.rival.admin })).json).toBe(null);
  const head = { index: 999, hash: "0".repeat(43) };
  const { text } = await site.post("/audit/verify", { head, progress: true });
  const lines = text
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(lines[0]).toMatchObject({ checked: 0, length: expect.any(Number) });
  expect(lines.at(-1)).toMatchObject({ hadHead: true, verdict: { ok: false, fault: "truncated" } });
  expect((await site.get("/audit/report")).json).toMatchObject({
    hadHead: true,
    verdict: { ok: false, fault: "truncated" },
  });
});

test("a stored verdict that is not signed with the key of the chain is ignored", async () => {
  const site = await openDecidedSite();
  await site.post("/audit/verify");
  const { audit } = site.runtime.store;
  const partition = Partition.of("acme");
  const kept = await audit.check(partition);
  if (!kept) throw new Error("a check is kept");
  await audit.keepCheck(partition, { ...kept, at: kept.at + 1 });
  expect((await site.get("/audit/report")).json).toBe(null);
});

const readPage = tool({
  name: "read_page",
  description: "Reads a page",
  input: z.object({}),
  risk: "safe",
  origin: "web",
  sensitivity: "private",
  execute: () => "page",
});
const sendEmail = tool({
  name: "send_email",
  description: "Sends an email",
  input: z.object({}),
  risk: "high",
  execute: () => "sent",
});

const writer = (
  model = scriptedModel([call("read_page", {}), call("send_email", {}), say("done")], { price }),
) =>
  agent({
    name: "writer",
    description: "Writes letters",
    instructions: "Be brief.",
    model,
    tools: [readPage, sendEmail],
    middleware: { chat: [retry()] },
    budget: { maxCostUsd: 1 },
  });

test("an agent is shown with its tools, limits and layers, and its instructions only to keys with content", async () => {
  const site = closing(await TestServer.open({ agents: [writer()] }));
  const { acme } = site.keys;
  const recordFor = async (key: string): Promise<JsonObject> => {
    const { json } = await site.get("/agents", { key });
    const [record] = Json.as<{ readonly items: readonly JsonObject[] }>(json).items;
    return record ?? {};
  };
  expect(await recordFor(acme.content)).toMatchObject({
    name: "writer",
    instructions: "Be brief.",
    budget: { maxCostUsd: 1 },
    middleware: ["retry"],
    tools: [
      {
        name: "read_page",
        risk: "safe",
        origin: "web",
        trust: "untrusted",
        sensitivity: "private",
        egress: true,
      },
      {
        name: "send_email",
        risk: "high",
        origin: "tool",
        trust: "trusted",
        sensitivity: "public",
        egress: true,
      },
    ],
  });
  expect(await recordFor(acme.read)).not.toHaveProperty("instructions");
});

test("a question has the tree's name, the runs above it and the sources of its labels", async () => {
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("ask_writer", { task: "write" }), say("done")], { price }),
    team: [writer()],
  });
  const site = closing(await TestServer.open({ agents: [lead] }));
  await site.runtime.start(lead, "go", { id: "t1", tenant: "acme", name: "Letters" });
  const listed = async (query: string): Promise<readonly JsonObject[]> => {
    const { json } = await site.get(`/approvals?${query}`);
    return Json.as<{ readonly items: readonly JsonObject[] }>(json).items;
  };
  await expect.poll(async () => (await listed("state=pending")).length).toBe(1);
  const [question] = await listed("agent=writer&tool=send_email&risk=high");
  expect(question).toMatchObject({
    treeName: "Letters",
    parents: [{ runId: "t1~0", agentId: "lead" }],
    ruleOfTwo: true,
    sources: [{ kind: "tool", name: "read_page", runId: "t1~1", untrusted: true, private: true }],
  });
  expect(await listed("tool=read_page")).toEqual([]);
  expect(await listed("risk=critical")).toEqual([]);
  expect(await listed("agent=lead")).toEqual([]);
});

test("a late decision is answered with the decision that counts", async () => {
  const site = closing(await TestServer.open());
  const { acme } = site.keys;
  await site.post("/runs", { agent: "writer", input: "send", id: "t1" });
  const pending = async (): Promise<readonly { readonly id: string }[]> =>
    (await site.runtime.approvals.list({ tenant: "acme", state: "pending" })).items;
  await expect.poll(async () => (await pending()).length).toBe(1);
  const path = `/approvals/${encodeURIComponent((await pending())[0]?.id ?? "")}`;
  await site.post(`${path}/deny`, { reason: "the north field stays" }, { key: acme.approve });
  const late = await ask(`${site.url}${path}/approve`, "POST", { key: acme.admin, body: {} });
  expect(late.status).toBe(409);
  expect(late.json).toMatchObject({
    error: {
      code: "approval-refused",
      reason: "decided",
      decided: { decision: "denied", by: acme.approve.split("_")[1], at: expect.any(Number) },
    },
  });
  expect(late.text).not.toContain("north field");
});

test("entries of a conversation have no content for a key without the scope, unless they are its user's own", async () => {
  const site = closing(await TestServer.open());
  const key = { id: SessionId.of("talk"), userId: UserId.of("ann") };
  const session = new Session(site.runtime.store.sessions, Partition.of("acme"), key);
  await session.open({ startedAt: 1 });
  await session.append([
    { id: EntryId.of("1"), at: 1, type: "message", message: ChatMessage.user("my secret") },
    {
      id: EntryId.of("2"),
      at: 2,
      type: "compaction",
      summary: "their secret",
      keptFrom: EntryId.of("1"),
      tokensBefore: 7,
    },
  ]);
  const ours = new Session(site.runtime.store.sessions, Partition.of("acme"), { ...key, userId: null });
  await ours.open({ startedAt: 1 });
  await ours.append([
    { id: EntryId.of("1"), at: 1, type: "message", message: ChatMessage.user("our secret") },
  ]);
  const hidden = await site.get("/sessions/talk/entries", { key: site.keys.acme.read });
  expect(hidden.json).toMatchObject({
    hasContent: false,
    items: [{ id: "1", type: "message", role: "user" }],
  });
  expect(hidden.text).not.toContain("secret");
  expect((await site.get("/sessions/talk/entries", { key: site.keys.acme.content })).text).toContain(
    "our secret",
  );
  const headers = { "x-reeve-user": "ann" };
  const { acme } = site.keys;
  const whole = await site.get("/sessions/talk/entries?user=ann", { key: acme.admin });
  expect(whole.text).toContain("my secret");
  expect(whole.json).toMatchObject({ hasContent: true });
  const acting = await site.get("/sessions/talk/entries", { key: acme.admin, headers });
  expect(acting.text).toContain("my secret");
});

test.each(["message", "compaction", "branch", "label", "model-change", "custom"] as const)(
  "an entry without content keeps only its position: %s",
  (type) => {
    const place = { id: EntryId.of("1"), parentId: null, at: 1, branch: null, tokens: 9 };
    const secrets = {
      message: ChatMessage.user("secret"),
      summary: "secret",
      label: "secret",
      data: "secret",
      kind: "secret",
      keptFrom: "1",
      tokensBefore: 3,
      target: "1",
      from: "1",
      model: "m",
    };
    const shown = withoutContent(Json.as<SessionEntry>(Json.of({ ...place, type, ...secrets })));
    expect(shown).toMatchObject({ ...place, type });
    expect(JSON.stringify(shown)).not.toContain("secret");
  },
);
