import {
  agent,
  type Agent,
  AgentId,
  type AgentOptions,
  ChatMessage,
  createRuntime,
  NotFoundError,
  type Runtime,
  SessionBusyError,
} from "reeve";
import { type ConversationMessage } from "#runtime";
import { EntryId, type RunRecord, type Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { counter } from "./counting-model.ts";
import { readAll } from "./read-all.ts";

const writer = agent({ name: "writer", model: counter });
const reviewer = agent({ name: "reviewer", model: counter });

const open = (store: Store = memoryStore()): Runtime => createRuntime({ agents: [writer, reviewer], store });

/** For busy machines. */

/** Returns the runs that the store lists so far. */
const runsOf = async (runtime: Runtime): Promise<readonly RunRecord[]> => (await runtime.runs.list()).items;

const texts = (messages: readonly ConversationMessage[]): readonly string[] => messages.map(ChatMessage.text);

test("a turn sees the earlier conversation, and the next one may follow at once", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  expect((await talk.invoke("one")).output).toBe("1: one");
  expect((await talk.invoke("two")).output).toBe("3: two");
  expect((await talk.invoke("fail")).status).toBe("failed");
  expect((await talk.invoke("three")).output).toBe("5: three");
});

test("a turn is over for its caller when its conversation is free again", async () => {
  const store = memoryStore();
  const dropped = Promise.withResolvers<void>();
  const { sessions } = store;
  const settle = sessions.settle.bind(sessions);
  sessions.settle = async (...given) => {
    await dropped.promise;
    return settle(...given);
  };
  await using runtime = open(store);
  const talk = await runtime.sessions.create(writer);
  const run = await talk.start("fail", { id: "failing" });
  let isOver = false;
  const again = talk.invoke("fail", { id: "failing" }).then(() => (isOver = true));
  await run.result();
  expect(await talk.phase()).toBe("turn");
  expect(isOver).toBe(false);
  dropped.resolve();
  await again;
  expect(await talk.phase()).toBe("idle");
});

test("a conversation is found again by its id and its user, also by another runtime", async () => {
  const store = memoryStore();
  const owner = { user: "ada", tenant: "acme" };
  {
    await using runtime = open(store);
    const talk = await runtime.sessions.create(writer, { ...owner, id: "report" });
    await talk.invoke("one");
  }
  await using runtime = open(store);
  const found = await runtime.sessions.get("report", owner);
  expect(found.agent).toBe(writer);
  expect((await found.invoke("two")).output).toBe("3: two");
  for (const other of [{ user: "bob", tenant: "acme" }, { tenant: "acme" }, { user: "ada" }, {}])
    await expect(runtime.sessions.get("report", other)).rejects.toThrow(NotFoundError);
});

test("the same id is the same conversation of a user, and another one of another user", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer, { id: "report", user: "ada", title: "Heat pumps" });
  await talk.invoke("one");
  const again = await runtime.sessions.create(writer, { id: "report", user: "ada", title: "Other" });
  expect((await again.head()).title).toBe("Heat pumps");
  expect((await again.invoke("two")).output).toBe("3: two");
  const other = await runtime.sessions.create(writer, { id: "report", user: "bob" });
  expect((await other.invoke("one")).output).toBe("1: one");
});

test("a list has the conversations with a name, by tenant, user and agent, in pages", async () => {
  await using runtime = open();
  const { sessions } = runtime;
  await sessions.create(writer, { id: "a", user: "ada" });
  await sessions.create(reviewer, { id: "b", user: "bob" });
  await sessions.create(writer, { id: "c", user: "ada", tenant: "acme" });
  const unnamed = await runtime.start(writer, "one", { user: "ada" });
  await unnamed.result();
  const ids = async (...given: Parameters<typeof sessions.list>): Promise<readonly string[]> =>
    (await sessions.list(...given)).items.map(({ id }) => id).toSorted();
  expect(await ids()).toEqual(["a", "b"]);
  expect(await ids({ user: "ada" })).toEqual(["a"]);
  expect(await ids({ agent: "reviewer" })).toEqual(["b"]);
  expect(await ids({ tenant: "acme" })).toEqual(["c"]);
  expect(await ids({ tenant: "acme", user: "bob" })).toEqual([]);
  expect(await ids({ unnamed: true, user: "ada" })).toHaveLength(2);
  const first = await sessions.list({}, { size: 1 });
  const rest = await sessions.list({}, { size: 1, after: first.next ?? "" });
  expect([...first.items, ...rest.items].map(({ id }) => id).toSorted()).toEqual(["a", "b"]);
});

test("of two concurrent turns one is refused and writes nothing", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const turns = await Promise.allSettled([talk.invoke("one"), talk.invoke("two")]);
  const refused = turns.flatMap((turn) => (turn.status === "rejected" ? [turn.reason] : []));
  expect(refused).toEqual([expect.any(SessionBusyError)]);
  expect((await talk.messages()).items).toHaveLength(2);
  await expect.poll(() => runsOf(runtime)).toHaveLength(1);
});

test("queued turns run in sequence, in the order they were accepted", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const first = await talk.start("hang");
  const queued = [];
  for (const text of ["two", "three"]) queued.push(await talk.start(text, { onBusy: "queue" }));
  await first.cancel();
  await Promise.all(queued.map((run) => run.result()));
  await talk.waitForIdle();
  const said = texts((await talk.messages()).items).toReversed();
  // The end of the cancelled turn is shown, and is not a message.
  expect(said).toEqual(["hang", "two", "3: two", "three", "5: three"]);
});

test("two turns that queue at once are both answered", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const turn = (text: string) => talk.invoke(text, { onBusy: "queue" });
  const answers = (await Promise.all([turn("one"), turn("two")])).map(({ output }) => output);
  // Either may be first.
  expect([
    ["1: one", "3: two"],
    ["3: one", "1: two"],
  ]).toContainEqual(answers);
});

test("messages come newest first, in pages", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  expect(await talk.messages()).toEqual({ items: [], next: null });
  for (const text of ["one", "two"]) await talk.invoke(text);
  const all = await talk.messages();
  expect(texts(all.items)).toEqual(["3: two", "two", "1: one", "one"]);
  expect(all.next).toBeNull();
  const first = await talk.messages({ size: 3 });
  expect(first.items).toEqual(all.items.slice(0, 3));
  const rest = await talk.messages({ size: 3, after: first.next ?? "" });
  expect(rest).toEqual({ items: all.items.slice(3), next: null });
  for (const size of [0, 1.5, 1_001]) await expect(talk.messages({ size })).rejects.toThrow(TypeError);
});

test("pages of messages leave out other entries, such as the end of a turn", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  for await (const piece of talk.stream("hang")) if (piece.kind === "text") break;
  await talk.invoke("two");
  const { items, next } = await talk.messages({ size: 2 });
  expect(texts(items)[1]).toBe("two");
  const rest = await talk.messages({ size: 1, after: next ?? "" });
  expect([texts(rest.items), rest.next]).toEqual([["hang"], null]);
});

test("a conversation can go on from an earlier entry, or begin again", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("one");
  const { leaf } = await talk.head();
  await talk.invoke("two");
  await talk.navigate(leaf);
  expect((await talk.invoke("three")).output).toBe("3: three");
  await talk.navigate(null);
  expect((await talk.invoke("four")).output).toBe("1: four");
  expect((await talk.invoke("five", { after: leaf })).output).toBe("3: five");
  expect(texts((await talk.messages()).items)).toEqual(["3: five", "five", "1: one", "one"]);
  await expect(talk.navigate(EntryId.of("none"))).rejects.toThrow(NotFoundError);
});

test("a turn cannot follow a missing entry, or an entry without a conversation", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer, { user: "ada" });
  const other = await runtime.sessions.create(writer, { user: "bob" });
  await other.invoke("one");
  const { leaf } = await other.head();
  for (const after of [EntryId.of("none"), leaf])
    await expect(talk.invoke("two", { after })).rejects.toThrow(NotFoundError);
  await expect(runtime.start(writer, "two", { after: leaf })).rejects.toThrow(TypeError);
  await expect.poll(() => runsOf(runtime)).toHaveLength(1);
});

test("a fork is a conversation of its own with everything up to its entry", async () => {
  await using runtime = open();
  const about = { title: "Heat pumps", channel: "slack", metadata: { topic: "heat" } };
  const talk = await runtime.sessions.create(writer, { user: "ada", ...about });
  const empty = await talk.fork();
  await talk.invoke("one");
  const { leaf } = await talk.head();
  await talk.invoke("two");
  const all = await talk.fork();
  const part = await talk.fork(leaf ?? undefined);
  for (const [fork, answer] of [
    [empty, "1: three"],
    [part, "3: three"],
    [all, "5: three"],
  ] as const) {
    expect(await fork.head()).toMatchObject({ ...about, userId: "ada", agentId: "writer", isNamed: true });
    expect((await fork.invoke("three")).output).toBe(answer);
  }
  expect((await part.head()).forkedFrom).toEqual({ session: talk.id, entry: leaf });
  expect((await talk.messages()).items).toHaveLength(4);
  expect((await runtime.sessions.list({ user: "ada" })).items).toHaveLength(4);
  await expect(talk.fork(EntryId.of("none"))).rejects.toThrow(NotFoundError);
});

test("another conversation of the same user has its own agent and channel", async () => {
  const guide: Agent = {
    id: AgentId.of("guide"),
    run: async ({ meta: { scope } }) => [scope?.channel, scope?.sessionId, scope?.userId].join(" "),
  };
  await using runtime = createRuntime({ agents: [writer, guide], store: memoryStore() });
  const talk = await runtime.sessions.create(writer, { user: "ada", channel: "slack" });
  await runtime.sessions.create(guide, { id: "tour", user: "ada", channel: "mail" });
  await runtime.sessions.create(writer, { id: "other", user: "bob" });
  const tour = await talk.switchTo("tour");
  expect(tour.agent).toBe(guide);
  for (const each of [tour, await tour.fork(), await runtime.sessions.get("tour", { user: "ada" })])
    expect((await each.invoke("one")).output).toBe(`mail ${each.id} ada`);
  await expect(talk.switchTo("other")).rejects.toThrow(NotFoundError);
});

test("while a turn runs, its conversation cannot be moved or forked", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  expect(await talk.phase()).toBe("idle");
  const run = await talk.start("hang");
  expect(await talk.phase()).toBe("turn");
  for (const refused of [() => talk.navigate(null), () => talk.fork()])
    await expect(refused()).rejects.toThrow(SessionBusyError);
  let isIdle = false;
  const idle = talk.waitForIdle().then(() => (isIdle = true));
  expect(await talk.phase()).toBe("turn");
  expect(isIdle).toBe(false);
  await run.cancel();
  await idle;
  expect(await talk.phase()).toBe("idle");
});

test("the usage of the context is the provider's figure of the last call", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  expect(await talk.contextUsage()).toEqual({ tokens: 0, window: 1_000 });
  await talk.invoke("one");
  expect(await talk.contextUsage()).toEqual({ tokens: 107, window: 1_000 });
  await talk.invoke("two");
  expect(await talk.contextUsage()).toEqual({ tokens: 307, window: 1_000 });
});

test("the usage of the context is an estimate if the provider reported none", async () => {
  const silent = agent({ name: "silent", model: scriptedModel([say("an answer of some words", null)]) });
  await using runtime = createRuntime({ agents: [silent], store: memoryStore() });
  const talk = await runtime.sessions.create(silent);
  await talk.invoke("one");
  const { tokens, window } = await talk.contextUsage();
  expect(tokens).toBeGreaterThan(0);
  expect(window).toBeNull();
});

test("a conversation can be renamed, exported and deleted", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer, { id: "report", title: "Heat pumps" });
  await talk.invoke("one");
  await talk.rename("Heat pumps in Europe");
  expect((await talk.head()).title).toBe("Heat pumps in Europe");
  const lines = (await readAll(talk.export())).map((line) => z.looseObject({}).parse(JSON.parse(line)));
  expect(lines.map(({ type }) => type)).toEqual(["session", "message", "message"]);
  await talk.delete();
  await expect(runtime.sessions.get("report")).rejects.toThrow(NotFoundError);
  await expect(talk.head()).rejects.toThrow(NotFoundError);
  await expect.poll(() => runsOf(runtime)).toHaveLength(1);
});

test("the output of a turn has the type that its agent states", async () => {
  const options = {
    name: "grader",
    model: scriptedModel([say('{ "score": 4 }')]),
    output: z.object({ score: z.number() }),
  } satisfies AgentOptions<unknown>;
  const grader = agent(options);
  await using runtime = createRuntime({ agents: [grader], store: memoryStore() });
  const talk = await runtime.sessions.create(grader);
  const { output } = await talk.invoke("one");
  const score: number | undefined = output?.score;
  expect(score).toBe(4);
});

test("a conversation of a removed agent is not found", async () => {
  const store = memoryStore();
  {
    await using runtime = open(store);
    await runtime.sessions.create(reviewer, { id: "review" });
  }
  await using runtime = createRuntime({ agents: [writer], store });
  await expect(runtime.sessions.get("review")).rejects.toThrow(NotFoundError);
  const talk = await runtime.sessions.create(writer);
  await expect(talk.switchTo("review")).rejects.toThrow(NotFoundError);
});
