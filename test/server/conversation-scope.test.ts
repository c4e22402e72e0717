import { agent } from "reeve";
import { apiKeys, createApiKey, type Scope } from "reeve/server";
import { say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../../src/server/routes.ts";
import { TestServer, inAYear } from "./test-server.ts";

const words = "the report is secret";

/** Every route of sessions and chats whose answer holds what was said. */
const rows = [
  "get /sessions/talk/messages",
  "get /sessions/talk/export",
  "get /chat/writer/talk/messages",
  "get /chat/writer/talk/stream",
  "post /chat/writer",
];

const keyOf = (scopes: readonly Scope[], user: string | null = null) =>
  createApiKey({ tenant: "acme", user, scopes, expiresAt: inAYear });

const keys = {
  blind: keyOf(["read", "run", "approve", "act-for-users"]),
  reader: keyOf(["read", "run", "content"]),
  admin: keyOf(["admin"]),
  ada: keyOf(["read", "run"], "ada"),
};

let site: TestServer;

const writer = agent({
  name: "writer",
  description: "Answers",
  model: scriptedModel([say(words), ...Array.from({ length: 19 }, () => say(words))]),
});

/** Says something in a chat, or reads; the whole answer, also of a stream. */
async function askFor(row: string, key: string, { user, chat = crypto.randomUUID() }: Asking = {}) {
  const [method = "", path = ""] = row.split(" ");
  const said = { id: "m", role: "user", parts: [{ type: "text", text: words }] };
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    ...(user !== undefined && { "x-reeve-user": user }),
  };
  const body = method === "post" ? JSON.stringify({ id: chat, messages: [said] }) : null;
  const reply = await fetch(site.url + path, { method: method.toUpperCase(), headers, body });
  return { status: reply.status, text: await reply.text() };
}

interface Asking {
  readonly user?: string;
  readonly chat?: string;
}

beforeAll(async () => {
  site = await TestServer.open({
    auth: apiKeys(Object.values(keys).map(({ record }) => record)),
    agents: [writer],
  });
  for (const { key } of [keys.reader, keys.ada])
    expect((await askFor("post /chat/writer", key, { chat: "talk" })).text).toContain(words);
});

afterAll(() => site[Symbol.asyncDispose]());

test("the table names every route of sessions and chats that is marked as content", () => {
  const marked = routes
    .filter(({ isContent, path }) => isContent && !path.startsWith("/memory/"))
    .map(({ method, path }) => `${method} ${path}`);
  const named = rows.map((row) =>
    row.replace("writer", ":agent").replace("chat/:agent/talk", "chat/:agent/:chat"),
  );
  expect(named.map((row) => row.replace("/talk", "/:session")).toSorted()).toEqual(marked.toSorted());
});

test.each(rows)("a key without the scope content is refused: %s", async (row) => {
  const reply = await askFor(row, keys.blind.key);
  expect(reply.status).toBe(403);
  expect(JSON.parse(reply.text)).toMatchObject({ error: { code: "forbidden" } });
  expect(reply.text).toContain("scope content");
  expect(reply.text).not.toContain(words);
});

test.each(rows)("a key with the scope content, an administrator and the user may read: %s", async (row) => {
  for (const { key } of [keys.reader, keys.admin, keys.ada])
    expect((await askFor(row, key)).text).toContain(words);
  expect((await askFor(row, keys.blind.key, { user: "ada" })).text).toContain(words);
});
