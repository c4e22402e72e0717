import { agent, createRuntime, Json, UserId } from "reeve";
import { type Store } from "reeve/store";
import { apiKeys, createApiKey, type Scope, serverApp } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { codeOf, type Reply } from "./ask.ts";
import { chatWith } from "./chat.ts";
import { closing } from "./closing.ts";
import { Subscription } from "./sse.ts";
import { counter, TestServer, inAYear, approvalAgent } from "./test-server.ts";

type Keys = Readonly<Record<"ada" | "bob" | "plain" | "trusted" | "admin", string>>;

const echo = agent({ name: "echo", model: scriptedModel([say("hello"), say("hello"), say("hello")]) });

const keyFor = (user: string | null, ...scopes: readonly Scope[]) =>
  createApiKey({ tenant: "acme", user, scopes, expiresAt: inAYear });

/** A server with a key for each of two users, and keys that are bound to none: with and without the right to act for users. */
async function open(
  store: Store = memoryStore(),
): Promise<{ readonly site: TestServer; readonly keys: Keys }> {
  const made = {
    ada: keyFor("ada", "read", "run", "approve"),
    bob: keyFor("bob", "read", "run", "approve"),
    plain: keyFor(null, "read", "run", "content"),
    trusted: keyFor(null, "read", "run", "approve", "act-for-users"),
    admin: keyFor(null, "admin"),
  };
  const auth = apiKeys(Object.values(made).map(({ record }) => record));
  const runtime = createRuntime({ agents: [approvalAgent(), counter, echo], store, approver: "human" });
  const site = closing(await TestServer.open({ runtime, auth }));
  const { ada, bob, plain, trusted, admin } = made;
  const keys = { ada: ada.key, bob: bob.key, plain: plain.key, trusted: trusted.key, admin: admin.key };
  return { site, keys };
}

const statusAndCode = (reply: Reply): readonly unknown[] => [reply.status, codeOf(reply)];
const start = { agent: "counter", input: "count" };
const forUser = (user: string): { readonly headers: Readonly<Record<string, string>> } => ({
  headers: { "x-reeve-user": user },
});

async function userOf({ runtime }: TestServer, tree: string): Promise<unknown> {
  return runtime.runs.userOf(tree, { tenant: "acme" });
}

test("a tree that a user's key starts is that user's, whether or not the body says so", async () => {
  const { site, keys } = await open();
  const key = keys.ada;
  expect((await site.post("/runs", { ...start, id: "silent" }, { key })).status).toBe(202);
  expect((await site.post("/runs", { ...start, id: "named", user: "ada" }, { key })).status).toBe(202);
  const header = await site.post("/runs", { ...start, id: "header" }, { key, ...forUser("ada") });
  expect(header.status).toBe(202);
  for (const id of ["silent", "named", "header"]) expect(await userOf(site, id)).toBe("ada");
});

test("a user's key names no other user, in the body or in the header", async () => {
  const { site, keys } = await open();
  const key = keys.ada;
  for (const reply of [
    await site.post("/runs", { ...start, id: "t", user: "bob" }, { key }),
    await site.post("/runs", { ...start, id: "t" }, { key, ...forUser("bob") }),
    await site.post("/runs", { ...start, id: "t", user: "bob" }, { key, ...forUser("ada") }),
  ]) {
    expect(statusAndCode(reply)).toEqual([403, "forbidden"]);
    expect(reply.text).toContain("remove it, or use a key of that user");
  }
  expect((await site.get("/runs/t", { key: keys.admin })).status).toBe(404);
});

test("a key that is bound to no user names one only with the scope act-for-users", async () => {
  const { site, keys } = await open();
  const chat = { id: "c", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hi" }] }] };
  const key = keys.plain;
  for (const reply of [
    await site.post("/runs", { ...start, user: "ada" }, { key }),
    await site.post("/runs", start, { key, ...forUser("ada") }),
    await site.post("/chat/echo", chat, { key, ...forUser("ada") }),
    await site.get("/runs", { key, ...forUser("ada") }),
  ]) {
    expect(statusAndCode(reply)).toEqual([403, "forbidden"]);
    expect(reply.text).toContain("use a key bound to the user, or one with the scope act-for-users");
  }
  expect((await site.post("/runs", { ...start, id: "mine" }, { key })).status).toBe(202);
  expect(await userOf(site, "mine")).toBeNull();
  for (const able of [keys.trusted, keys.admin]) {
    const id = `by-${able.slice(-8)}`;
    expect((await site.post("/runs", { ...start, id, user: "ada" }, { key: able })).status).toBe(202);
    const again = await site.post("/runs", { ...start, id }, { key: able, ...forUser("ada") });
    expect([again.status, await userOf(site, id)]).toEqual([202, "ada"]);
  }
});

test("a header that names no user is refused", async () => {
  const { site, keys } = await open();
  for (const name of ["", "a b", "ada, bob", "x".repeat(129)]) {
    const reply = await site.get("/runs", { key: keys.trusted, ...forUser(name) });
    expect([name, ...statusAndCode(reply)]).toEqual([name, 400, "invalid-request"]);
  }
});

test("a filter by user only narrows the view of a key without a user: it needs no further scope", async () => {
  const { site, keys } = await open();
  await site.post("/runs", { ...start, id: "hers" }, { key: keys.ada });
  await site.post("/runs", { ...start, id: "his" }, { key: keys.bob });
  const listed = async (query: string): Promise<string> =>
    (await site.get(`/runs${query}`, { key: keys.plain })).text;
  await expect.poll(() => listed("")).toMatch(/hers.*his|his.*hers/);
  expect(await listed("?user=ada")).not.toContain("his");
});

test("no key is bound to a user and acts for others", () => {
  const both = { tenant: "acme", user: "ada", expiresAt: inAYear } as const;
  expect(() => createApiKey({ ...both, scopes: ["run", "act-for-users"] })).toThrow(
    "remove the scope act-for-users",
  );
  expect(() => createApiKey({ ...both, user: "a b", scopes: ["run"] })).toThrow("invalid id");
  expect(() => createApiKey({ ...both, user: "", scopes: ["run"] })).toThrow("invalid id");
});

test("a key source that drops the user of a key admits no caller", async () => {
  const { key, record } = createApiKey({ tenant: "acme", user: "ada", scopes: ["read"], expiresAt: inAYear });
  const { user: _, ...dropped } = record;
  const auth = apiKeys({ find: async () => JSON.parse(JSON.stringify(dropped)) });
  await expect(auth.authenticate(key)).rejects.toThrow("user");
  expect(await apiKeys([record]).authenticate(key)).toMatchObject({ tenant: "acme", user: "ada" });
});

test("two users with the same chat id and the same message are two conversations", async () => {
  const { site, keys } = await open();
  const chatOf = (key: string, headers: Readonly<Record<string, string>> = {}) =>
    site.post(
      "/chat/counter",
      { id: "c", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "count" }] }] },
      { key, headers },
    );
  expect((await chatOf(keys.ada)).status).toBe(200);
  const owner = { tenant: "acme", user: "ada" };
  const hers = await site.runtime.turn("c", owner);
  // Hers waits for a signal and has the turn: his is not refused, and is another tree.
  expect((await chatOf(keys.bob)).status).toBe(200);
  const treesOf = async (userId: UserId): Promise<readonly string[]> =>
    (await site.runtime.runs.list({ tenant: "acme", userId })).items.map(({ treeId }) => treeId);
  await expect.poll(() => treesOf(UserId.of("bob"))).toHaveLength(1);
  expect(await treesOf(UserId.of("ada"))).toEqual([hers]);
  expect(await treesOf(UserId.of("bob"))).not.toContain(hers);
  const again = await chatOf(keys.trusted, { "x-reeve-user": "ada" });
  expect([again.status, await site.runtime.turn("c", owner)]).toEqual([200, hers]);
  expect(await site.runtime.turn("c", { tenant: "acme" })).toBeNull();
  const resumed = async (key: string, question: object = {}): Promise<number> =>
    (await site.get("/chat/counter/c/stream", { key, ...question })).status;
  expect([await resumed(keys.ada), await resumed(keys.bob), await resumed(keys.plain)]).toEqual([
    200, 200, 204,
  ]);
  // A chat of that name without a user is one more, and no user's.
  expect((await chatOf(keys.plain)).status).toBe(200);
  expect([await resumed(keys.plain), await resumed(keys.trusted, forUser("zoe"))]).toEqual([200, 204]);
});

test("each user of a chat page sees the answers of their own chat alone", async () => {
  const { site, keys } = await open();
  const url = `${site.url}/chat/echo`;
  const [hers, his] = [keys.ada, keys.bob].map((key) => chatWith(url, key, { id: "c" }));
  await hers?.sendMessage({ text: "the word of ada" });
  await his?.sendMessage({ text: "the word of bob" });
  expect([hers?.shown.text, his?.shown.text, his?.error]).toEqual(["hello", "hello", undefined]);
  expect(hers?.messages.at(-1)?.id).not.toBe(his?.messages.at(-1)?.id);
  await expect
    .poll(async () => {
      const { items } = await site.runtime.runs.list({ tenant: "acme" });
      return items.map(({ userId, sessionId }) => `${userId}/${sessionId}`).toSorted();
    })
    .toEqual(["ada/c", "bob/c"]);
});

test("starting a tree under another user's tree id is a conflict that reveals nothing", async () => {
  const { site, keys } = await open();
  const mine = { ...start, input: "the words of ada", id: "report", metadata: { canary: "ada's" } };
  expect((await site.post("/runs", mine, { key: keys.ada })).status).toBe(202);
  expect((await site.post("/runs", mine, { key: keys.ada })).status).toBe(202);
  for (const body of [mine, { ...mine, input: "other words" }, { ...mine, session: "s" }]) {
    const reply = await site.post("/runs", body, { key: keys.bob });
    expect(statusAndCode(reply)).toEqual([409, "id-conflict"]);
    expect(reply.text).not.toMatch(/ada|words/);
  }
  expect((await site.get("/runs/report", { key: keys.bob })).status).toBe(404);
  expect((await site.get("/runs/report", { key: keys.ada })).status).toBe(200);
});

test("a tree that works for no user is shown to no user, and none of them changes it", async () => {
  const { site, keys } = await open();
  expect((await site.post("/runs", { ...start, id: "ours" }, { key: keys.plain })).status).toBe(202);
  await expect.poll(() => userOf(site, "ours")).toBeNull();
  for (const as of [{ key: keys.ada }, { key: keys.trusted, ...forUser("ada") }]) {
    for (const path of ["/runs/ours", "/runs/ours/result", "/runs/ours/events", "/runs/ours/agents"])
      expect([path, (await site.get(path, as)).status]).toEqual([path, 404]);
    expect((await site.post("/runs/ours/cancel", {}, as)).status).toBe(404);
    expect((await site.get("/runs", as)).json).toMatchObject({ items: [] });
  }
  expect((await site.get("/runs/ours", { key: keys.plain })).json).toMatchObject({ status: "waiting" });
});

test("a live stream for one user is not found for another user of the same key", async () => {
  const { site, keys } = await open();
  const key = keys.trusted;
  const stream = await Subscription.to(`${site.url}/live`, { key, ...forUser("ada") });
  const [opened] = await stream.readUntil((messages) => messages.some(({ event }) => event === "opened"));
  const { id } = Json.as<{ readonly id: string }>(JSON.parse(opened?.data ?? "null"));
  const change = async (user: string): Promise<number> =>
    (await site.post(`/live/${id}`, { trees: [] }, { key, ...forUser(user) })).status;
  expect([await change("bob"), await change("ada")]).toEqual([404, 200]);
  expect((await site.post(`/live/${id}`, { trees: [] }, { key })).status).toBe(404);
  await stream.drop();
});

test("a decision is recorded under the key and the user for whom it was made", async () => {
  const { site, keys } = await open();
  await site.post("/runs", { agent: "writer", input: "send", id: "t" }, { key: keys.ada });
  const run = site.runtime.run("t", { tenant: "acme" });
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  const [asked] = await run.approvals();
  const path = `/approvals/${encodeURIComponent(asked?.id ?? "")}/deny`;
  expect((await site.post(path, {}, { key: keys.trusted, ...forUser("bob") })).status).toBe(404);
  const denied = await site.post(path, {}, { key: keys.trusted, ...forUser("ada") });
  expect(denied.json).toMatchObject({ by: expect.stringMatching(/^[0-9a-f]{18} for ada$/) });
});

async function ask(app: ReturnType<typeof serverApp>, user: string, path: string): Promise<number> {
  const headers = { host: "localhost", authorization: "Bearer x", "x-reeve-user": user };
  return (await app.request(`http://localhost${path}`, { headers })).status;
}

test("a tree that is not stored yet belongs to its user from the start, in every process", async () => {
  const store = memoryStore();
  // The projector writes runs first, so the store receives nothing.
  const runs = Object.assign(Object.create(store.runs), { put: () => new Promise(() => undefined) });
  const { site, keys } = await open(Object.assign(Object.create(store), { runs }));
  const begun = await site.post("/runs", { ...start, id: "fresh" }, { key: keys.ada });
  expect(begun.status).toBe(202);
  const principal = { id: "k", tenant: "acme", scopes: ["read", "act-for-users"] } as const;
  const elsewhere = serverApp({ runtime: site.runtime, auth: { authenticate: async () => principal } });
  expect((await site.get("/runs/fresh", { key: keys.ada })).status).toBe(200);
  expect((await site.get("/runs/fresh", { key: keys.bob })).status).toBe(404);
  expect(await ask(elsewhere, "ada", "/runs/fresh")).toBe(200);
  expect(await ask(elsewhere, "bob", "/runs/fresh")).toBe(404);
  expect(await ask(elsewhere, "ada", "/runs/never")).toBe(404);
});
