import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, ChatMessage, createRuntime, type Model, type Runtime, tool } from "reeve";
import type { Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { call } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { Conversation } from "#runtime";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-lost-turns-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** A model that answers each message once the test lets it, and costs 2 tokens. */
class HeldModel {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();
  /** Resolves when the model was asked that. */
  readonly #asked = new Map<string, PromiseWithResolvers<void>>();

  readonly model: Model = {
    id: "held",
    generate: async ({ messages }) => {
      const said = ChatMessage.text(messages.at(-1) ?? ChatMessage.user(""));
      gateOf(this.#asked, said).resolve();
      await this.#gates.get(said)?.promise;
      const usage = { input: 1, output: 1 };
      return { message: ChatMessage.assistant(`re: ${said}`), usage, finishReason: "stop" };
    },
  };

  hold(text: string): void {
    gateOf(this.#gates, text);
  }

  answer(text: string): void {
    gateOf(this.#gates, text).resolve();
  }

  waitForQuestion(text: string): Promise<void> {
    return gateOf(this.#asked, text).promise;
  }
}

function gateOf(gates: Map<string, PromiseWithResolvers<void>>, name: string): PromiseWithResolvers<void> {
  const gate = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, gate);
  return gate;
}

const open = (model: Model, store: Store, options: { readonly cancelGraceS?: number } = {}): Runtime =>
  createRuntime({ agents: [agent({ name: "writer", model })], store, ...options });

/** Returns the conversation, oldest message first, and opens it if needed. */
const talkOf = async (runtime: Runtime): Promise<Conversation> => {
  const [writer] = runtime.agents;
  if (!writer) throw new Error("the program has an agent");
  return runtime.sessions.create(writer, { id: "talk" });
};
const texts = async (talk: Conversation): Promise<readonly string[]> =>
  (await talk.messages()).items.map(ChatMessage.text).toReversed();

/** Holds the first write of a message back until the test lets it through. */
function holdWrite(
  store: Store,
  text: string,
): { readonly reached: Promise<void>; readonly letGo: () => Promise<void> } {
  const { sessions } = store;
  const append = sessions.append.bind(sessions);
  const [reached, hold, over] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  let isHeld = false;
  sessions.append = async (...given) => {
    const [, , entries] = given;
    const isMeant = entries.some(
      (entry) => entry.type === "message" && ChatMessage.text(entry.message) === text,
    );
    if (isHeld || !isMeant) return append(...given);
    isHeld = true;
    reached?.resolve();
    await hold?.promise;
    try {
      return await append(...given);
    } finally {
      over?.resolve();
    }
  };
  return {
    reached: reached?.promise ?? Promise.resolve(),
    letGo: async () => {
      hold?.resolve();
      await over?.promise;
    },
  };
}

test("a write of a cancelled turn that arrives after the next turn changes nothing", async () => {
  const store = memoryStore();
  const { model } = new HeldModel();
  await using runtime = open(model, store, { cancelGraceS: 0.1 });
  const talk = await talkOf(runtime);
  const late = holdWrite(store, "re: first");
  const run = await talk.start("first");
  await late.reached;
  await run.cancel();
  await talk.waitForIdle();
  expect((await talk.invoke("second")).status).toBe("completed");
  const whole = ["first", "second", "re: second"];
  expect(await texts(talk)).toEqual(whole);
  await late.letGo();
  expect(await texts(talk)).toEqual(whole);
  // Nothing of it is left on a branch, and the next turn follows.
  expect((await talk.invoke("third")).status).toBe("completed");
  expect(await texts(talk)).toEqual([...whole, "third", "re: third"]);
});

test("of two processes in one conversation, one saves its turn and the other's turn fails", async () => {
  const path = join(folder, "two.db");
  const held = new HeldModel();
  for (const text of ["from one", "from two"]) held.hold(text);
  await using one = open(held.model, await sqliteStore({ path }));
  await using two = open(held.model, await sqliteStore({ path }));
  const [a, b] = [await talkOf(one), await talkOf(two)];
  await a.invoke("before");
  const [runA, runB] = [await a.start("from one"), await b.start("from two")];
  await Promise.all([held.waitForQuestion("from one"), held.waitForQuestion("from two")]);
  held.answer("from one");
  expect((await runA.result()).status).toBe("completed");
  held.answer("from two");
  const lost = await runB.result();
  expect(lost).toMatchObject({ status: "failed", stopReason: "error", usage: { input: 1, output: 1 } });
  expect(lost.error).toMatchObject({ code: "turn-lost", session: "talk", reason: "overtaken" });
  await b.waitForIdle();
  const whole = ["before", "re: before", "from one", "re: from one"];
  expect(await texts(a)).toEqual(whole);
  // The process that lost goes on from there.
  expect((await b.invoke("after")).status).toBe("completed");
  expect(await texts(a)).toEqual([...whole, "after", "re: after"]);
});

test("the steps of a lost turn that had effects stay, and its run says why it failed", async () => {
  const path = join(folder, "effects.db");
  const [acted, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const send = tool({
    name: "send",
    description: "Sends a letter.",
    input: z.object({}),
    risk: "safe",
    egress: true,
    execute: () => "sent",
  });
  const acting: Model = {
    id: "acting",
    generate: async ({ messages }) => {
      const usage = { input: 1, output: 1 };
      if (messages.at(-1)?.role === "user") return { ...call("send", {}), usage };
      acted.resolve();
      await answer.promise;
      return { message: ChatMessage.assistant("sent"), usage, finishReason: "stop" };
    },
  };
  const sender = agent({ name: "writer", model: acting, tools: [send] });
  await using one = createRuntime({ agents: [sender], store: await sqliteStore({ path }) });
  await using two = open(new HeldModel().model, await sqliteStore({ path }));
  const [a, b] = [await talkOf(one), await talkOf(two)];
  const run = await a.start("send it");
  await acted.promise;
  await b.invoke("meanwhile");
  answer.resolve();
  const lost = await run.result();
  expect(lost.error).toMatchObject({ code: "turn-lost", reason: "overtaken" });
  await a.waitForIdle();
  expect(await texts(a)).toEqual(["meanwhile", "re: meanwhile"]);
  // The messages are dropped, so the prompt is built from the texts that its steps keep.
  const { items } = await one.steps(run.runId);
  const last = items.findLast(({ stepId }) => stepId.includes(":model:"))?.stepId ?? "";
  const { content, prompt } = await one.prompt(last);
  expect(content).toBe("recorded");
  expect(prompt.map(({ role }) => role)).toEqual(["tools", "user", "assistant", "tool"]);
});

test("a turn that went back and was cancelled stays below the entry that it followed", async () => {
  const store = memoryStore();
  const held = new HeldModel();
  await using runtime = open(held.model, store);
  const talk = await talkOf(runtime);
  await talk.invoke("one");
  const { leaf } = await talk.head();
  await talk.invoke("two");
  held.hold("three");
  const run = await talk.start("three", { after: leaf });
  await held.waitForQuestion("three");
  await run.cancel();
  await talk.waitForIdle();
  expect(await texts(talk)).toEqual(["one", "re: one", "three"]);
});

test("a conversation that another process moves during a compaction is not compacted", async () => {
  const store = memoryStore();
  const held = new HeldModel();
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const summarizer: Model = {
    id: "summarizer",
    generate: async () => {
      asked.resolve();
      await answer.promise;
      const usage = { input: 1, output: 1 };
      return { message: ChatMessage.assistant("a summary"), usage, finishReason: "stop" };
    },
  };
  const compaction = { model: summarizer, keepRecent: 1, reserve: 100 };
  const writer = agent({ name: "writer", model: held.model, compaction });
  await using one = createRuntime({ agents: [writer], store });
  await using two = open(held.model, store);
  const [a, b] = [await talkOf(one), await talkOf(two)];
  for (const text of ["one", "two", "three"]) await a.invoke(text);
  const compacting = a.runCompaction();
  await asked.promise;
  await b.invoke("meanwhile");
  answer.resolve();
  expect(await compacting).toBeNull();
  expect((await texts(a)).slice(-2)).toEqual(["meanwhile", "re: meanwhile"]);
  expect(await a.head()).toMatchObject({ leaf: (await b.messages({ size: 1 })).items[0]?.id });
});
