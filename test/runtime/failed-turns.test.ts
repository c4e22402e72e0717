import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  ChatMessage,
  type Conversation,
  createRuntime,
  type Model,
  ModelError,
  type Runtime,
  tool,
} from "reeve";
import { getPromptWindow, Session, type SessionEntry, type Store } from "reeve/store";
import { type ModelErrorKind } from "#kernel";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { readAll } from "./read-all.ts";

/** The kinds of errors, and whether such a call is retried: unchanged, or with a shorter prompt. */
const kinds: Readonly<Record<ModelErrorKind, "retried" | "compacted" | "final">> = {
  "rate-limit": "retried",
  overloaded: "retried",
  "server-error": "retried",
  timeout: "retried",
  "context-overflow": "compacted",
  unknown: "retried",
  auth: "final",
  "auth-permanent": "final",
  billing: "final",
  "model-not-found": "final",
  "content-blocked": "final",
  format: "final",
};

/** A model that fails with the kind that the newest message of the user names, `times` times or for ever. */
class FailingModel implements Model {
  readonly id = "failing";
  calls = 0;

  async generate({ messages }: Parameters<Model["generate"]>[0]): ReturnType<Model["generate"]> {
    this.calls += 1;
    const last = messages.at(-1);
    const asked = ChatMessage.text(messages.findLast(({ role }) => role === "user") ?? ChatMessage.user(""));
    const usage = { input: 10, output: 5 };
    if (messages[0]?.role === "system")
      return { message: ChatMessage.assistant(`The user: ${asked}`), usage, finishReason: "stop" };
    // The user's request may be known from a summary only.
    const summed = asked.startsWith("Summary of") ? asked.match(/(say|search|mail) [^\n]*/g)?.at(-1) : null;
    const [word, kind = "", times = ""] = (summed ?? asked).split(" ");
    if ((word === "search" || word === "mail") && last?.role === "user" && !summed) {
      const content = [{ type: "tool-call", callId: "1", name: word, input: {} }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    if (isKind(kind) && (times === "" || this.calls <= Number(times)))
      throw new ModelError({ kind, message: "no" });
    return { message: ChatMessage.assistant(`answer to ${asked}`), usage, finishReason: "stop" };
  }
}

const isKind = (word: string): word is ModelErrorKind => Object.hasOwn(kinds, word);

const toolNamed = (name: string, risk: "safe" | "high") =>
  tool({ name, description: name, input: z.object({}), risk, execute: () => "done" });

let folder: string;
let stores: Readonly<Record<"memory" | "sqlite", Store>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-failed-turns-"));
  stores = { memory: memoryStore(), sqlite: await sqliteStore({ path: join(folder, "store.db") }) };
});
afterAll(async () => {
  await Promise.all(Object.values(stores).map((store) => store[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true });
});

/** A conversation in which one turn was taken. */
async function begin(store: Store, replayEveryStep: boolean): Promise<Begun> {
  const model = new FailingModel();
  const lead = agent({
    name: "lead",
    model,
    tools: [toolNamed("search", "safe"), toolNamed("mail", "high")],
    permissions: "allow-all",
    retry: { maxRetries: 1, baseMs: 1 },
  });
  const runtime = createRuntime({ agents: [lead], store, engine: local({ replayEveryStep }) });
  const talk = await runtime.sessions.create(lead, { user: "ada" });
  await talk.invoke("hello");
  model.calls = 0;
  return { runtime, talk, model };
}

interface Begun {
  readonly runtime: Runtime;
  readonly talk: Conversation<string>;
  readonly model: FailingModel;
}

interface Kept {
  readonly leaf: string | null;
  readonly entries: readonly SessionEntry[];
  readonly window: readonly ChatMessage[];
}

/** Returns all that the store has of a conversation, and the prompt of its next turn. */
async function readConversation({ runtime, talk }: Begun): Promise<Kept> {
  const { id, userId, leaf } = await talk.head();
  const session = new Session(runtime.store.sessions, { tenantId: null }, { id, userId });
  return { leaf, entries: await readAll(session.entries()), window: await getPromptWindow(session) };
}

test.each(Object.entries(kinds))("a call that fails once with %s is %s", async (kind, end) => {
  const begun = await begin(stores.memory, false);
  await using _ = begun.runtime;
  const before = await readConversation(begun);
  const { status } = await begun.talk.invoke(`say ${kind} 1`);
  expect(status).toBe(end === "final" ? "failed" : "completed");
  const { entries } = await readConversation(begun);
  const added = { final: 0, retried: 2, compacted: 3 };
  expect(entries).toHaveLength(before.entries.length + added[end]);
});

const cases = (["memory", "sqlite"] as const).flatMap((store) =>
  [false, true].map((replayed) => ({ store, replayed, shown: replayed ? "replayed" : "not replayed" })),
);

describe.each(cases)("with $store, $shown", ({ store, replayed }) => {
  const open = (): Promise<Begun> => begin(stores[store], replayed);

  test.each(Object.entries(kinds))("a turn that fails with %s leaves no trace", async (kind, end) => {
    const begun = await open();
    await using _ = begun.runtime;
    const before = await readConversation(begun);
    const failed = await begun.talk.invoke(`say ${kind}`);
    expect([failed.status, failed.stopReason, failed.output]).toEqual(["failed", "error", null]);
    // A compaction is a call itself.
    expect(begun.model.calls).toBe({ final: 1, retried: 2, compacted: 3 }[end]);
    expect(await readConversation(begun)).toEqual(before);
    const searched = await begun.talk.invoke(`search ${kind}`);
    expect(searched.status).toBe("failed");
    expect(await readConversation(begun)).toEqual(before);
    expect((await begun.talk.invoke("again")).output).toBe("answer to again");
  });

  test.each(Object.entries(kinds))(
    "a turn that fails with %s after a mail stays in the conversation, and is closed",
    async (kind, end) => {
      const begun = await open();
      await using _ = begun.runtime;
      const before = await readConversation(begun);
      expect((await begun.talk.invoke(`mail ${kind}`)).status).toBe("failed");
      const { entries, window } = await readConversation(begun);
      expect(entries.slice(0, before.entries.length)).toEqual(before.entries);
      expect(entries.slice(before.entries.length)).toMatchObject([
        { type: "message", branch: null, message: { role: "user" } },
        { type: "message", branch: null, message: { role: "assistant" } },
        { type: "message", branch: null, message: { role: "tool" } },
        ...(end === "compacted" ? [{ type: "compaction", branch: null }] : []),
        { type: "custom", branch: null, kind: "turn-end", data: { status: "failed", stopReason: "error" } },
      ]);
      expect(ChatMessage.text(window.at(-1) ?? ChatMessage.user(""))).toBe(
        "The previous turn failed: an error ended it.",
      );
    },
  );
});
