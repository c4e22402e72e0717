import { agent, memory, tool } from "reeve";
import { apiKeys, createApiKey, type Scope } from "reeve/server";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { routes } from "../../src/server/routes.ts";
import { speakingAgent, speaker } from "./speaker.ts";
import { Subscription } from "./sse.ts";
import { TestServer, inAYear } from "./test-server.ts";

/** Stands in everything that people, models and tools say. */
const words = "the report is secret";

const sendEmail = tool({
  name: "send_email",
  description: "Sells",
  input: z.object({ to: z.string() }),
  risk: "high",
  execute: async () => words,
});

const writer = agent({
  name: "writer",
  model: scriptedModel([
    call("remember", { key: "harvest", value: words }),
    call("edit_block", { block: "notes", old_text: "", new_text: words }),
    call("send_email", { to: words }),
    say(words),
  ]),
  tools: [sendEmail],
  permissions: { decide: (asked) => (asked.tool === "send_email" ? "ask" : "allow") },
  extensions: [memory({ blocks: { notes: { limit: 100 } }, facts: true })],
});

const keyOf = (scopes: readonly Scope[], user: string | null = null) =>
  createApiKey({ tenant: "acme", user, scopes, expiresAt: inAYear });

const keys = {
  read: keyOf(["read"]),
  run: keyOf(["read", "run"]),
  approve: keyOf(["read", "approve"]),
  content: keyOf(["read", "content"]),
  admin: keyOf(["admin"]),
  ada: keyOf(["read"], "ada"),
};

type Holder = keyof typeof keys;

let site: TestServer;
const said = speaker();

beforeAll(async () => {
  const auth = apiKeys(Object.values(keys).map(({ record }) => record));
  site = await TestServer.open({ auth, agents: [writer, speakingAgent(said.model)] });
  const admin = { key: keys.admin.key };
  const owner = { tenant: "acme", user: "ada" };
  const run = await site.runtime.start(writer, words, { ...owner, id: "t", session: "talk", metadata: {} });
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  const [asked] = await run.approvals();
  await run.approve(asked?.id ?? "", { by: "bob", reason: words });
  expect((await run.result()).output).toBe(words);
  await site.runtime.schedules.set({
    ...owner,
    id: "yearly",
    cron: "0 0 1 1 *",
    agent: writer,
    input: words,
  });
  expect(
    (await site.post("/runs", { agent: "speaker", input: words, id: "speech", user: "ada" }, admin)).status,
  ).toBe(202);
});

afterAll(() => site[Symbol.asyncDispose]());

/** Routes whose answer holds words, by what a key without the scope receives instead. */
const withWords: Readonly<Record<string, "refused" | "withheld">> = {
  "/runs/t/result": "withheld",
  "/runs/t/steps/t~0:model:1": "refused",
  "/approvals": "withheld",
  "/sessions/talk/entries?user=ada": "withheld",
  "/sessions/talk/messages?user=ada": "refused",
  "/sessions/talk/export?user=ada": "refused",
  "/chat/writer/talk/messages": "refused",
  "/chat/writer/talk/stream": "refused",
  "/memory/facts?user=ada": "refused",
  "/memory/blocks?user=ada": "refused",
  "/memory/export?user=ada": "refused",
  "/schedules/yearly?user=ada": "withheld",
};

/** Routes without words, for every key with the scope `read`. */
const withoutWords: readonly string[] = [
  "/agents",
  "/me",
  "/openapi.json",
  "/runs",
  "/runs/t",
  "/runs/t/tree",
  "/runs/t/view",
  "/runs/t/blocker",
  "/runs/t/ledger",
  "/runs/t/log",
  "/runs/t/events",
  "/runs/t/steps",
  "/runs/t/steps/t~0:model:1/figures",
  "/runs/t/doubts/none",
  "/schedules",
  "/sessions",
  "/sessions/talk?user=ada",
  "/spend",
  "/spend/in-doubt",
  "/status",
  "/tenant",
];

const ask = async (
  path: string,
  holder: Holder,
): Promise<{ readonly status: number; readonly text: string }> => {
  const authorization = `Bearer ${keys[holder].key}`;
  const reply = await fetch(site.url + path, { headers: { authorization } });
  return { status: reply.status, text: await reply.text() };
};

const approvalsOf = async (holder: Holder): Promise<readonly object[]> =>
  JSON.parse((await ask("/approvals", holder)).text).items;

const recall = async (holder: Holder): Promise<number> => {
  const body = { text: "secret", user: "ada" };
  return (await site.post("/memory/recall", body, { key: keys[holder].key })).status;
};

test("the tables name every route that a key with the scope read, content or none may read", () => {
  const named = [...Object.keys(withWords), ...withoutWords, "/live"].map((path) =>
    (path.split("?")[0] ?? "")
      .replace("writer/talk", ":agent/:chat")
      .replace("/t/", "/:run/")
      .replace(/\/t$/, "/:run")
      .replace("t~0:model:1", ":step")
      .replace("/none", "/:attempt")
      .replace("/talk", "/:session")
      .replace("/yearly", "/:schedule"),
  );
  const read = routes.filter(({ method, scope }) => method === "get" && scope !== "admin");
  expect(named.toSorted()).toEqual(read.map(({ path }) => path).toSorted());
});

/** The holders that read a route with words. A chat without a user is another chat; `content` of steps is for no user. */
const readersOf = (path: string): readonly Holder[] => {
  if (path.startsWith("/chat/")) return ["ada"];
  if (path.startsWith("/runs/t/steps")) return ["content", "admin"];
  return ["content", "admin", "ada", ...(path === "/approvals" ? (["approve"] as const) : [])];
};

test.each(Object.entries(withWords))("%s is content: without the scope it is %s", async (path, instead) => {
  const readers = readersOf(path);
  for (const holder of readers) expect((await ask(path, holder)).text).toContain(words);
  for (const holder of (["read", "run", "approve"] as const).filter((each) => !readers.includes(each))) {
    const reply = await ask(path, holder);
    expect([holder, reply.status]).toEqual([holder, instead === "refused" ? 403 : 200]);
    expect(reply.text).not.toContain(words);
  }
});

test.each(withoutWords)("%s holds no words", async (path) => {
  for (const holder of ["read", "run", "approve", "content", "admin"] as const) {
    const reply = await ask(path, holder);
    expect([holder, reply.status]).toEqual([holder, 200]);
    expect(reply.text).not.toContain(words);
  }
});

test("a withheld result keeps status, reason and cost, and says that it is withheld", async () => {
  const [shown, withheld] = [await ask("/runs/t/result", "content"), await ask("/runs/t/result", "read")];
  expect(JSON.parse(withheld.text)).toEqual({ ...JSON.parse(shown.text), output: null, withheld: true });
  expect(JSON.parse(shown.text)).not.toHaveProperty("withheld");
});

test("a withheld approval keeps its tool, its reason and its decision", async () => {
  const [record] = await approvalsOf("read");
  expect(record).toMatchObject({ tool: "send_email", arguments: null, withheld: true });
  expect(record).toMatchObject({ decision: { decision: "approved", by: "bob" } });
  const [shown] = await approvalsOf("approve");
  expect(shown).toMatchObject({ arguments: { to: words }, decision: { reason: words } });
  expect(shown).not.toHaveProperty("withheld");
});

test("a search of memory is refused without the scope", async () => {
  expect(await Promise.all((["read", "approve", "content", "admin"] as const).map(recall))).toEqual([
    403, 403, 200, 200,
  ]);
});

test("pieces of answers reach keys with the scope content, an administrator and the user, and no others", async () => {
  const streams = await Promise.all(
    (["read", "run", "approve", "content", "admin", "ada"] as const).flatMap((holder) =>
      ["/runs/speech/events", "/runs/speech/events?deltas=true", "/live?trees=speech&deltas=speech~0"].map(
        async (path) => ({
          name: `${holder} ${path}`,
          sees: ["content", "admin", "ada"].includes(holder),
          stream: await Subscription.to(site.url + path, { key: keys[holder].key }),
        }),
      ),
    ),
  );
  await site.post("/runs/speech/signal", { name: "speak", data: null, id: "1" }, { key: keys.admin.key });
  await said.asked;
  said.say(words);
  for (const { stream, sees } of streams)
    if (sees) await stream.readUntil((messages) => messages.some(({ data }) => data.includes(words)));
  said.answer();
  for (const { stream, name, sees } of streams) {
    await stream.readUntil((messages) => messages.some(({ event }) => event === "end"));
    expect([name, stream.messages.some(({ event }) => event === "delta")]).toEqual([name, sees]);
    expect([name, stream.messages.some(({ data }) => data.includes(words))]).toEqual([name, sees]);
    await stream.drop();
  }
});
