import { agent, ChatMessage, Json, retry, SessionId, tool, UserId } from "reeve";
import { type AuditEntry, EntryId, Partition, Session, type SessionEntry } from "reeve/store";
import { isJsonObject, type JsonObject } from "#kernel";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { withoutContent } from "../../src/server/routes/session-entries.ts";
import { ask } from "./ask.ts";
import { closing } from "./closing.ts";
import { Estate, steward } from "./estate.ts";

const price = { input: 1_000, output: 1_000 };

/** A tree whose only question was decided. */
async function decidedEstate(): Promise<Estate> {
  const sale = [call("sell", { field: "north" }), say("sold it")] as const;
  const estate = closing(await Estate.open({ agents: [steward(scriptedModel([...sale, ...sale]))] }));
  for (const id of ["t1", "t2"]) {
    await estate.post("/runs", { agent: "steward", input: "sell", id });
    const pending = async (): Promise<readonly { readonly id: string }[]> =>
      (await estate.runtime.approvals.list({ tenant: "acme", tree: id, state: "pending" })).items;
    await expect.poll(async () => (await pending()).length).toBe(1);
    const [question] = await pending();
    await estate.post(`/approvals/${encodeURIComponent(question?.id ?? "")}/approve`);
    await estate.runtime.run(id, { tenant: "acme" }).result();
  }
  return estate;
}

const linksOf = async (estate: Estate, query = ""): Promise<readonly AuditEntry[]> => {
  const { json } = await estate.get(`/audit${query}`);
  return Json.as<{ readonly items: readonly AuditEntry[] }>(json).items;
};

test("the audit is listed newest first, by kind, tree, run and page", async () => {
  const estate = await decidedEstate();
  const decided = async (): Promise<number> =>
    (await linksOf(estate, "?kind=approval")).filter(({ data }) => isJsonObject(data) && "by" in data).length;
  await expect.poll(decided).toBe(2);
  const all = await linksOf(estate);
  expect(all.map(({ index }) => index)).toEqual(all.map((_, place) => all.length - 1 - place));
  const approvals = await linksOf(estate, "?kind=approval");
  expect(approvals.map(({ data }) => isJsonObject(data) && data["decision"])).toEqual([
    "approved",
    "requested",
    "approved",
    "requested",
  ]);
  const first = await linksOf(estate, "?tree=t1");
  expect(first.length).toBeGreaterThan(2);
  expect(first.length).toBeLessThan(all.length);
  expect(await linksOf(estate, "?run=t1~0")).toEqual(first);
  expect(await linksOf(estate, "?tree=t")).toEqual([]);
  // Its source begins with `budget/`, and it is about no tree.
  await estate.post("/budget", { maxTokens: 1_000_000, per: "day" });
  await expect.poll(async () => (await linksOf(estate, "?kind=budget")).length).toBe(1);
  expect(await linksOf(estate, "?tree=budget")).toEqual([]);
  const { json } = await estate.get("/audit?kind=approval&size=3");
  const { items, next } = Json.as<{
    readonly items: readonly AuditEntry[];
    readonly next: number;
  }>(json);
  expect(items).toEqual(approvals.slice(0, 3));
  expect(await linksOf(estate, `?kind=approval&size=3&before=${next}`)).toEqual(approvals.slice(3));
});

test("the verdict of a verification is kept with its time, and its progress is a stream", async () => {
  const estate = await decidedEstate();
  expect((await estate.get("/audit/report")).json).toBe(null);
  await estate.post("/audit/verify");
  const { json: report } = await estate.get("/audit/report");
  expect(report).toMatchObject({ hadHead: false, verdict: { ok: true } });
  expect((await estate.get("/audit/report", { key: estate.keys.rival.admin })).json).toBe(null);
  const head = { index: 999, hash: "0".repeat(43) };
  const { text } = await estate.post("/audit/verify", { head, progress: true });
  const lines = text
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(lines[0]).toMatchObject({ checked: 0, length: expect.any(Number) });
  expect(lines.at(-1)).toMatchObject({ hadHead: true, verdict: { ok: false, fault: "truncated" } });
  expect((await estate.get("/audit/report")).json).toMatchObject({
    hadHead: true,
    verdict: { ok: false, fault: "truncated" },
  });
});

test("a kept verdict that was not signed with the key of the chain is none", async () => {
  const estate = await decidedEstate();
  await estate.post("/audit/verify");
  const { audit } = estate.runtime.store;
  const partition = Partition.of("acme");
  const kept = await audit.check(partition);
  if (!kept) throw new Error("a check is kept");
  await audit.keepCheck(partition, { ...kept, at: kept.at + 1 });
  expect((await estate.get("/audit/report")).json).toBe(null);
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

const clerk = (
  model = scriptedModel([call("read_page", {}), call("send_email", {}), say("done")], { price }),
) =>
  agent({
    name: "clerk",
    description: "Writes letters",
    instructions: "Be brief.",
    model,
    tools: [readPage, sendEmail],
    middleware: { chat: [retry()] },
    budget: { maxCostUsd: 1 },
  });

test("an agent is shown with its tools, limits and layers, and its instructions only to keys with content", async () => {
  const estate = closing(await Estate.open({ agents: [clerk()] }));
  const { acme } = estate.keys;
  const recordFor = async (key: string): Promise<JsonObject> => {
    const { json } = await estate.get("/agents", { key });
    const [record] = Json.as<{ readonly items: readonly JsonObject[] }>(json).items;
    return record ?? {};
  };
  expect(await recordFor(acme.content)).toMatchObject({
    name: "clerk",
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
        outside: true,
      },
      {
        name: "send_email",
        risk: "high",
        origin: "tool",
        trust: "trusted",
        sensitivity: "public",
        outside: true,
      },
    ],
  });
  expect(await recordFor(acme.read)).not.toHaveProperty("instructions");
});

test("a question has the tree's name, the runs above it and the sources of its labels", async () => {
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("ask_clerk", { task: "write" }), say("done")], { price }),
    team: [clerk()],
  });
  const estate = closing(await Estate.open({ agents: [lead] }));
  await estate.runtime.start(lead, "go", { id: "t1", tenant: "acme", name: "Letters" });
  const listed = async (query: string): Promise<readonly JsonObject[]> => {
    const { json } = await estate.get(`/approvals?${query}`);
    return Json.as<{ readonly items: readonly JsonObject[] }>(json).items;
  };
  await expect.poll(async () => (await listed("state=pending")).length).toBe(1);
  const [question] = await listed("agent=clerk&tool=send_email&risk=high");
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

test("a late decision gets the decision that counts", async () => {
  const estate = closing(await Estate.open());
  const { acme } = estate.keys;
  await estate.post("/runs", { agent: "steward", input: "sell", id: "t1" });
  const pending = async (): Promise<readonly { readonly id: string }[]> =>
    (await estate.runtime.approvals.list({ tenant: "acme", state: "pending" })).items;
  await expect.poll(async () => (await pending()).length).toBe(1);
  const path = `/approvals/${encodeURIComponent((await pending())[0]?.id ?? "")}`;
  await estate.post(`${path}/deny`, { reason: "the north field stays" }, { key: acme.approve });
  const late = await ask(`${estate.url}${path}/approve`, "POST", { key: acme.admin, body: {} });
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
  const estate = closing(await Estate.open());
  const key = { id: SessionId.of("talk"), userId: UserId.of("ann") };
  const session = new Session(estate.runtime.store.sessions, Partition.of("acme"), key);
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
  const ours = new Session(estate.runtime.store.sessions, Partition.of("acme"), { ...key, userId: null });
  await ours.open({ startedAt: 1 });
  await ours.append([
    { id: EntryId.of("1"), at: 1, type: "message", message: ChatMessage.user("our secret") },
  ]);
  const hidden = await estate.get("/sessions/talk/entries", { key: estate.keys.acme.read });
  expect(hidden.json).toMatchObject({
    hasContent: false,
    items: [{ id: "1", type: "message", role: "user" }],
  });
  expect(hidden.text).not.toContain("secret");
  expect((await estate.get("/sessions/talk/entries", { key: estate.keys.acme.content })).text).toContain(
    "our secret",
  );
  const headers = { "x-reeve-user": "ann" };
  const { acme } = estate.keys;
  const whole = await estate.get("/sessions/talk/entries?user=ann", { key: acme.admin });
  expect(whole.text).toContain("my secret");
  expect(whole.json).toMatchObject({ hasContent: true });
  const acting = await estate.get("/sessions/talk/entries", { key: acme.admin, headers });
  expect(acting.text).toContain("my secret");
});

test.each(["message", "compaction", "branch", "label", "model-change", "custom"] as const)(
  "an entry without content has its place alone: %s",
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
