import { once } from "node:events";
import { createServer } from "node:http";
import {
  agent,
  AgentId,
  ChatMessage,
  createRuntime,
  type Agent,
  type Model,
  type OutputOf,
  type RunResult,
} from "reeve";
import { ClientError, createClient, type Client, type TurnSettings } from "reeve/client";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";
import { routes } from "../../src/server/routes.ts";
import { portOf } from "../models/canned-server.ts";
import { streamingModel } from "../server/streaming-model.ts";

/** Counts the messages of the user that the model was shown. */
const counting: Model = {
  id: "counting",
  contextWindow: 500,
  generate: async ({ messages }) => {
    const count = messages.filter(({ role }) => role === "user").length;
    const message = ChatMessage.assistant(JSON.stringify({ count }));
    return { message, usage: { input: 7, output: 2 }, finishReason: "stop" };
  },
};
const counter = agent({ name: "counter", model: counting, output: z.object({ count: z.number() }) });
const waiter: Agent = {
  id: AgentId.of("waiter"),
  run: async (ctx) => {
    await ctx.waitFor("go");
    return "went";
  },
};

interface Opened {
  readonly client: Client;
  /** A client of another user of the same tenant. */
  readonly other: Client;
  readonly url: string;
}

async function open(agents: readonly Agent[] = [counter, waiter]): Promise<Opened> {
  const scopes = ["read", "run", "act-for-users"] as const;
  const { key, record } = createApiKey({ tenant: "acme", scopes, expiresAt: Date.now() + 3_600_000 });
  const runtime = createRuntime({ agents, store: memoryStore() });
  const server = await listen({ runtime, port: 0, auth: apiKeys([record]) });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await runtime[Symbol.asyncDispose]();
  });
  const { url } = server;
  const of = (user: string): Client => createClient({ url, key, user });
  return { client: of("ada"), other: of("bob"), url };
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof ClientError ? error.code : error),
  );

test("a conversation over HTTP keeps its history, and its answers are typed", async () => {
  const { client } = await open();
  const talk = await client.sessions.create<OutputOf<typeof counter>>("counter", {
    id: "talk",
    title: "Pumps",
  });
  const first = await talk.invoke("one");
  expectTypeOf(first).toEqualTypeOf<RunResult<{ count: number }>>();
  expect(first.output?.count).toBe(1);
  // Once `invoke` has returned, the conversation is free.
  expect((await talk.invoke("two")).output).toEqual({ count: 2 });
  const run = await talk.start("three");
  expect((await run.result()).output).toEqual({ count: 3 });
  const found = await client.sessions.get("talk");
  expect(await found.head()).toMatchObject({ title: "Pumps", userId: "ada", agentId: "counter" });
  await expect.poll(() => found.phase()).toBe("idle");
  expect(await found.contextUsage()).toEqual({ tokens: 9, window: 500 });
});

test("invoke returns when its tree no longer has the turn, and does not wait for the next one", async () => {
  let asked = 0;
  const answers: Readonly<Record<string, () => object>> = {
    "POST /sessions/talk/turns": () => ({ treeId: "t", runId: "t~0" }),
    "GET /runs/t~0/result": () => ({ output: "done" }),
    "GET /sessions/talk": () => ({ turn: ++asked < 3 ? "t" : "another" }),
  };
  const server = createServer(({ method, url = "" }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answers[`${method} ${decodeURIComponent(url)}`]?.()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const client = createClient({ url: `http://127.0.0.1:${portOf(server)}` });
  const talk = await client.sessions.get("talk");
  expect((await talk.invoke("go")).output).toBe("done");
  expect(asked).toBe(3);
});

test("a client reads messages, navigates and forks", async () => {
  const { client } = await open();
  const talk = await client.sessions.create("counter");
  await talk.invoke("one");
  await talk.invoke("two");
  const page = await talk.messages({ size: 3 });
  expect(page.items.map((message) => ChatMessage.text(message))).toEqual([
    '{"count":2}',
    "two",
    '{"count":1}',
  ]);
  const rest = await talk.messages({ after: page.next ?? "" });
  expect(rest.items.map(({ role }) => role)).toEqual(["user"]);
  const answer = page.items[2]?.id ?? null;
  const copy = await talk.fork();
  await talk.navigate(answer);
  expect((await talk.invoke("three")).output).toEqual({ count: 2 });
  expect((await talk.invoke("again", { after: null })).output).toEqual({ count: 1 });
  expect((await copy.invoke("three")).output).toEqual({ count: 3 });
});

test("a client renames, lists, exports and deletes conversations", async () => {
  const { client } = await open();
  const talk = await client.sessions.create("counter", { id: "a" });
  await client.sessions.create("waiter", { id: "b" });
  await talk.rename("Pumps");
  const { items } = await client.sessions.list({ agent: "counter", size: 5 });
  expect(items.map(({ id, title }) => [id, title])).toEqual([["a", "Pumps"]]);
  await talk.invoke("one");
  let text = "";
  for await (const piece of talk.export()) text += piece;
  const lines = text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(["session", "message", "message"]);
  await talk.delete();
  expect(await codeOf(client.sessions.get("a"))).toBe("not-found");
});

test("an answer is streamed from its first piece, then returned whole", async () => {
  const { model, streamNext } = streamingModel(["the pump ", "is old"]);
  const { client } = await open([agent({ name: "writer", model })]);
  const talk = await client.sessions.create("writer");
  const turn = talk.stream("When?");
  const heard: string[] = [];
  streamNext();
  for await (const { kind, text } of turn) {
    if (kind !== "text") continue;
    heard.push(text);
    streamNext();
  }
  expect(heard).toEqual(["the pump ", "is old"]);
  expect((await turn.result()).output).toBe("the pump is old");
  expect(await talk.phase()).toBe("idle");
});

test("leaving a stream cancels its turn, or lets it continue", async () => {
  const { model, streamNext } = streamingModel(["the pump ", "is old"]);
  const { client } = await open([agent({ name: "writer", model })]);
  const talk = await client.sessions.create("writer");
  const left = talk.stream("When?");
  streamNext();
  for await (const _ of left) break;
  expect((await left.result()).status).toBe("cancelled");
  const going = talk.stream("When?", { onBreak: "detach" });
  for await (const _ of going) break;
  streamNext();
  expect((await going.result()).output).toBe("the pump is old");
});

test("while a turn runs, other turns are refused by start and stream, and one may queue", async () => {
  const { client } = await open();
  const talk = await client.sessions.create("waiter");
  const run = await talk.start("go");
  expect(await talk.phase()).toBe("turn");
  expect(await codeOf(talk.invoke("again"))).toBe("session-busy");
  expect(await codeOf(talk.stream("again").result())).toBe("session-busy");
  const next = await talk.start("again", { onBusy: "queue" });
  await run.signal("go");
  expect((await run.result()).output).toBe("went");
  await expect.poll(() => codeOf(next.signal("go"))).toBeNull();
  expect((await next.result()).output).toBe("went");
});

test("a conversation is deleted with its running turn", async () => {
  const { client } = await open();
  const talk = await client.sessions.create("waiter");
  const run = await talk.start("go");
  await talk.delete();
  expect(await run.result()).toMatchObject({ status: "cancelled", erased: true });
  expect(await codeOf(talk.head())).toBe("not-found");
});

test("two users have separate conversations, even under the same name", async () => {
  const { client, other } = await open();
  const mine = await client.sessions.create("counter", { id: "talk" });
  await mine.invoke("one");
  expect(await codeOf(other.sessions.get("talk"))).toBe("not-found");
  const theirs = await other.sessions.create("counter", { id: "talk" });
  expect((await theirs.invoke("one")).output).toEqual({ count: 1 });
  expect((await mine.invoke("two")).output).toEqual({ count: 2 });
});

test("a turn takes every field that its route takes", () => {
  const turns = routes.find(({ path }) => path === "/sessions/:session/turns");
  const known: Record<keyof TurnSettings, true> = {
    id: true,
    name: true,
    onBusy: true,
    after: true,
    metadata: true,
    retention: true,
    budget: true,
    spawn: true,
    priority: true,
    deadlineS: true,
    labels: true,
  };
  const fields = Object.keys(turns?.body?.fields ?? {}).filter((name) => name !== "input");
  expect(Object.keys(known).toSorted()).toEqual(fields.toSorted());
});

test("a conversation can be compacted over HTTP", async () => {
  const { client } = await open();
  const talk = await client.sessions.create("counter", { id: "long" });
  expect(await talk.runCompaction()).toBeNull();
  for (let turn = 0; turn < 3; turn++) await talk.invoke("count");
  const entry = await talk.runCompaction({ instructions: "Keep the counts." });
  expect(entry).toBe((await talk.head()).leaf);
  expect(await talk.phase()).toBe("idle");
  // The summary and the newest turn, which is kept, and the next message.
  expect((await talk.invoke("count")).output).toEqual({ count: 3 });
});
