import { agent, type Agent, ChatMessage, Json, type Model } from "reeve";
import { isJsonObject, type JsonObject } from "#kernel";
import { apiKeys, createApiKey } from "reeve/server";
import { expect, test } from "vitest";
import { ask, codeOf, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { counter, TestServer, inAYear } from "./test-server.ts";

/** Answers with all user messages, so that an answer shows the model's prompt. */
const echo: Model = {
  id: "echo",
  contextWindow: 1_000,
  generate: async ({ messages }) => {
    const said = messages.filter(({ role }) => role === "user").map((message) => ChatMessage.text(message));
    const message = ChatMessage.assistant(said.join(" + "));
    return { message, usage: { input: 10, output: 1 }, finishReason: "stop" };
  },
};
const memory = agent({ name: "memory", model: echo });

const open = async (agents: readonly Agent[] = [memory, counter]): Promise<TestServer> =>
  closing(await TestServer.open({ agents }));

const fields = ({ json }: Reply): JsonObject => (isJsonObject(json) ? json : {});
const items = (reply: Reply): readonly JsonObject[] => Json.as(fields(reply)["items"] ?? []);

/** A field that is a text. */
function text(object: JsonObject | undefined, name: string): string {
  const value = object?.[name];
  return typeof value === "string" ? value : "";
}

/** Sends a message in a session, and returns the answer once the session is free again. */
async function say(
  site: TestServer,
  session: string,
  input: string,
  more: JsonObject = {},
): Promise<unknown> {
  const begun = await site.post(`/sessions/${session}/turns`, { input, ...more });
  expect([begun.status, codeOf(begun)]).toEqual([202, null]);
  const tree = text(fields(begun), "treeId");
  const { output } = await site.runtime.run(tree, { tenant: "acme" }).result();
  const talk = await site.runtime.sessions.get(session, { tenant: "acme" });
  await talk.waitForIdle();
  return output;
}

const texts = async (site: TestServer, session: string, query = ""): Promise<readonly string[]> =>
  items(await site.get(`/sessions/${session}/messages${query}`)).map((message) =>
    ChatMessage.text(Json.as(message)),
  );

test("a conversation is created, keeps its history, and is listed with its title, phase and context", async () => {
  const site = await open();
  const created = { agent: "memory", id: "talk", title: "Pumps", channel: "web", metadata: { from: "test" } };
  expect((await site.post("/sessions", created)).json).toEqual({ id: "talk" });
  expect((await site.post("/sessions", created)).json).toEqual({ id: "talk" });
  expect(await say(site, "talk", "one")).toBe("one");
  expect(await say(site, "talk", "two")).toBe("one + two");
  expect(fields(await site.get("/sessions/talk"))).toMatchObject({
    id: "talk",
    agentId: "memory",
    title: "Pumps",
    channel: "web",
    metadata: { from: "test" },
    phase: "idle",
    contextUsage: { tokens: 11, window: 1_000 },
  });
  expect(await texts(site, "talk")).toEqual(["one + two", "two", "one", "one"]);
});

test("messages come newest first, in pages", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  await say(site, "talk", "one");
  await say(site, "talk", "two");
  const first = await site.get("/sessions/talk/messages?size=3");
  const next = text(fields(first), "next");
  expect(items(first).map((message) => ChatMessage.text(Json.as(message)))).toEqual([
    "one + two",
    "two",
    "one",
  ]);
  const last = await site.get(`/sessions/talk/messages?size=3&after=${next}`);
  expect(items(last).map((message) => ChatMessage.text(Json.as(message)))).toEqual(["one"]);
  expect(fields(last)["next"]).toBeNull();
});

test("a turn follows an earlier entry, and so does the next one after navigate; the rest stays", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  await say(site, "talk", "one");
  await say(site, "talk", "two");
  const [, , answer] = items(await site.get("/sessions/talk/messages"));
  const entry = text(answer, "id");
  expect(await say(site, "talk", "three", { after: entry })).toBe("one + three");
  expect(await say(site, "talk", "fresh", { after: null })).toBe("fresh");
  expect((await site.post("/sessions/talk/navigate", { entry })).status).toBe(200);
  expect(await texts(site, "talk")).toEqual(["one", "one"]);
  expect(await say(site, "talk", "four")).toBe("one + four");
  expect((await site.post("/sessions/talk/navigate", { entry: null })).status).toBe(200);
  expect(await texts(site, "talk")).toEqual([]);
  expect(items(await site.get("/sessions/talk/entries")).length).toBe(10);
  const gone = await site.post("/sessions/talk/turns", { input: "x", after: "nowhere" });
  expect([gone.status, codeOf(gone)]).toEqual([404, "not-found"]);
  const lost = await site.post("/sessions/talk/navigate", { entry: "nowhere" });
  expect([lost.status, codeOf(lost)]).toEqual([404, "not-found"]);
  const nowhere = await site.post("/runs", { agent: "memory", input: "x", after: entry });
  expect([nowhere.status, codeOf(nowhere)]).toEqual([400, "invalid-request"]);
});

test("a fork continues by itself; a deleted conversation is not found", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  await say(site, "talk", "one");
  const [answer] = items(await site.get("/sessions/talk/messages"));
  await say(site, "talk", "two");
  const whole = text(fields(await site.post("/sessions/talk/fork")), "id");
  const part = text(fields(await site.post("/sessions/talk/fork", { entry: answer?.["id"] })), "id");
  expect(await say(site, whole, "three")).toBe("one + two + three");
  expect(await say(site, part, "three")).toBe("one + three");
  expect(await texts(site, "talk")).toEqual(["one + two", "two", "one", "one"]);
  const removed = await ask(`${site.url}/sessions/talk`, "DELETE", { key: site.keys.acme.run });
  expect(removed.status).toBe(200);
  expect((await site.get("/sessions/talk")).status).toBe(404);
  expect((await site.get("/sessions/talk/messages")).status).toBe(404);
  expect(items(await site.get("/sessions")).map(({ id }) => id)).not.toContain("talk");
  expect(await texts(site, whole)).toHaveLength(6);
});

test("a title can be set and removed", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  const rename = (title: string | null): Promise<Reply> =>
    ask(`${site.url}/sessions/talk`, "PATCH", { key: site.keys.acme.run, body: { title } });
  expect((await rename("Pumps")).status).toBe(200);
  expect(fields(await site.get("/sessions/talk"))["title"]).toBe("Pumps");
  expect((await rename(null)).status).toBe(200);
  expect(fields(await site.get("/sessions/talk"))["title"]).toBeNull();
  expect(
    (await ask(`${site.url}/sessions/talk`, "PATCH", { key: site.keys.acme.run, body: {} })).status,
  ).toBe(400);
});

test("lists are filtered by agent, and have conversations without a name only if asked", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  await site.post("/sessions", { agent: "counter", id: "counting" });
  const run = await site.runtime.start(memory, "alone", { tenant: "acme" });
  await run.result();
  const listed = async (query: string): Promise<readonly unknown[]> =>
    items(await site.get(`/sessions${query}`)).map(({ id }) => id);
  expect(new Set(await listed(""))).toEqual(new Set(["counting", "talk"]));
  expect(await listed("?agent=memory")).toEqual(["talk"]);
  await expect.poll(() => listed("?unnamed=true")).toHaveLength(3);
  const page = await site.get("/sessions?size=1");
  expect(await listed(`?size=1&after=${text(fields(page), "next")}`)).toHaveLength(1);
});

test("an export is JSON lines that another session can read", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "memory", id: "talk" });
  await say(site, "talk", "one");
  const reply = await site.get("/sessions/talk/export");
  expect(reply.headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
  const lines = reply.text
    .trimEnd()
    .split("\n")
    .map((line) => Json.as<JsonObject>(JSON.parse(line)));
  expect(lines.map(({ type }) => type)).toEqual(["session", "message", "message"]);
  let same = "";
  const talk = await site.runtime.sessions.get("talk", { tenant: "acme" });
  for await (const line of talk.export()) same += line;
  expect(reply.text).toBe(same);
});

test("while a turn runs, other changes of its conversation are refused with 409", async () => {
  const site = await open();
  await site.post("/sessions", { agent: "counter", id: "talk" });
  expect((await site.post("/sessions/talk/turns", { input: "count", id: "t1" })).status).toBe(202);
  expect(fields(await site.get("/sessions/talk"))["phase"]).toBe("turn");
  // The same turn again is the same one.
  expect((await site.post("/sessions/talk/turns", { input: "count", id: "t1" })).status).toBe(202);
  const refused = [
    site.post("/sessions/talk/turns", { input: "count" }),
    site.post("/sessions/talk/fork"),
    site.post("/sessions/talk/navigate", { entry: null }),
  ];
  for (const reply of await Promise.all(refused))
    expect([reply.status, codeOf(reply)]).toEqual([409, "session-busy"]);
  const waits = await site.post("/sessions/talk/turns", { input: "count", onBusy: "queue" });
  expect(waits.status).toBe(202);
  // Only its end can always be had: it cancels both turns.
  const deleted = await ask(`${site.url}/sessions/talk`, "DELETE", { key: site.keys.acme.admin });
  expect(deleted.status).toBe(200);
  expect(fields(await site.get("/runs/t1/result"))["status"]).toBe("cancelled");
  expect((await site.get("/sessions/talk")).status).toBe(404);
});

test("a turn has the limits of its key", async () => {
  const limits = { budget: { maxTokens: 100 } };
  const { key, record } = createApiKey({
    tenant: "acme",
    scopes: ["read", "run"],
    expiresAt: inAYear,
    limits,
  });
  const site = closing(await TestServer.open({ agents: [memory], auth: apiKeys([record]) }));
  await site.post("/sessions", { agent: "memory", id: "talk" }, { key });
  const over = { input: "one", budget: { maxTokens: 101 } };
  const refused = await site.post("/sessions/talk/turns", over, { key });
  expect([refused.status, codeOf(refused)]).toEqual([403, "limit-exceeded"]);
  const begun = await site.post("/sessions/talk/turns", { input: "one", id: "t" }, { key });
  expect(begun.status).toBe(202);
  const { tree } = await site.runtime.run("t", { tenant: "acme" }).ledger();
  expect(tree.maxTokens).toBe(100);
});
