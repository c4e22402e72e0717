import assert from "node:assert/strict";
import { agent, getPromptWindow, Session, tool } from "#agents";
import {
  ChatMessage,
  type EntryId,
  type Model,
  ModelError,
  type ModelRequest,
  type RunResult,
  type SessionEntry,
  SessionId,
} from "#kernel";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { memoryStore } from "#stores/memory";
import { onRuntime, type EngineCase } from "./harness.ts";
import { historyOf } from "./history.ts";

/** The text of a message, with its results; a call is its name. */
function textOf({ content }: ChatMessage): string {
  const parts = content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool-call") return `[${block.name}]`;
    return block.type === "tool-result" ? textOf({ role: "user", content: block.content }) : "";
  });
  return parts.join("");
}

const isSummary = ({ messages: [first] }: ModelRequest): boolean =>
  first?.role === "system" && textOf(first).startsWith("You summarise");

const numbersIn = (text: string): readonly number[] =>
  [...text.matchAll(/thing (\d+)/g)].map(([, number]) => Number(number));

/**
 * A model with a context of 1,200 tokens, which it refuses to exceed. `look` makes it call a tool twelve times; it
 * answers anything else. Its summaries name the items they were shown.
 */
class SmallModel implements Model {
  readonly id = "small";
  readonly contextWindow = 1_200;
  readonly maxOutputTokens = 200;
  readonly price = { input: 1_000_000, output: 1_000_000 };
  readonly requests: ModelRequest[] = [];

  async generate(request: ModelRequest): ReturnType<Model["generate"]> {
    const input = request.messages.reduce((sum, message) => sum + Math.ceil(textOf(message).length / 4), 0);
    const isTooLong = input > this.contextWindow;
    if (isTooLong) throw new ModelError({ kind: "context-overflow", message: "too long", unbilled: true });
    this.requests.push(request);
    const last = textOf(request.messages.at(-1) ?? ChatMessage.user(""));
    const next = last.startsWith("look") ? 1 : Math.max(0, ...numbersIn(last)) + 1;
    const usage = { input, output: 20 };
    if (
      !isSummary(request) &&
      (last.startsWith("look") || request.messages.at(-1)?.role === "tool") &&
      next <= 12
    ) {
      const content = [{ type: "tool-call", callId: String(next), name: "look", input: { next } }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    const text = isSummary(request)
      ? `SUMMARY ${numbersIn(last).join(",")}`
      : `answer ${"words ".repeat(20)}`;
    return { message: ChatMessage.assistant(text), usage, finishReason: "stop" };
  }
}

const look = tool({
  name: "look",
  description: "Looks at one thing",
  input: { "~standard": { version: 1, vendor: "reeve", validate: (value: unknown) => ({ value }) } },
  risk: "safe",
  execute: (input) => `thing ${Object(input).next} ${"words ".repeat(140)}`,
});

/** A conversation with the small model. 300 tokens of its context remain free, 200 are kept. */
class Talk {
  readonly model: SmallModel;
  readonly #runtime: Runtime;
  readonly #session: Session;

  constructor(runtime: Runtime, model: SmallModel) {
    this.#runtime = runtime;
    this.model = model;
    const key = { id: SessionId.of("talk"), userId: null };
    this.#session = new Session(runtime.store.sessions, { tenantId: null }, key);
  }

  static agent(model: Model): ReturnType<typeof agent> {
    return agent({ name: "lead", model, tools: [look], compaction: { reserve: 300, keepRecent: 200 } });
  }

  async take(text: string, more: StartOptions = {}): Promise<{ run: RunHandle; result: RunResult }> {
    const lead = this.#runtime.agents[0];
    assert.ok(lead);
    const run = await this.#runtime.start(lead, text, { session: "talk", onBusy: "queue", ...more });
    return { run, result: await run.result() };
  }

  /** Asks for a compaction, once the conversation is free. */
  async compact(): Promise<EntryId | null> {
    const talk = await this.#runtime.sessions.get("talk");
    await talk.waitForIdle();
    return talk.runCompaction();
  }

  async compactions(): Promise<readonly Extract<SessionEntry, { readonly type: "compaction" }>[]> {
    const found = [];
    for await (const entry of this.#session.entries()) if (entry.type === "compaction") found.push(entry);
    return found;
  }

  /** The messages that the next turn is shown. */
  async window(): Promise<readonly string[]> {
    return (await getPromptWindow(this.#session)).map(textOf);
  }
}

const conversationCase =
  (body: (talk: Talk) => Promise<void>): EngineCase["run"] =>
  (harness) => {
    const model = new SmallModel();
    const options = { agents: [Talk.agent(model)], store: memoryStore() };
    return onRuntime(harness, options, (runtime) => body(new Talk(runtime, model)));
  };

const hasTried = async (run: RunHandle): Promise<boolean> =>
  (await historyOf(run)).some(({ type }) => type === "compaction.end");

/** The last text of a prompt. */
const lastOf = ({ messages }: ModelRequest): string => textOf(messages.at(-1) ?? ChatMessage.user(""));

const question = (number: number): string => `thing ${number} ${"please ".repeat(20)}`;

/** Compaction: what is summarised, which account pays for it, and the state if it fails. */
export const compactionCases: readonly EngineCase[] = [
  {
    name: "8.5 a conversation that fills the context is summarized after the turn: charged, stored once, and updated later",
    run: conversationCase(async (talk) => {
      let spent = 0;
      for (let number = 1; (await talk.compactions()).length < 2; number++) {
        assert.ok(number < 60, "no compaction");
        const { run, result } = await talk.take(question(number));
        assert.equal(result.status, "completed", result.error?.message);
        spent += result.costMicros;
        const types = (await historyOf(run)).map(({ type }) => type);
        const told = types.filter((type) => /^(turn|compaction|session)\./.test(type));
        const compacted = told.includes("compaction.start") ? ["compaction.start", "compaction.end"] : [];
        assert.deepEqual(told, ["turn.start", "turn.saved", "turn.end", ...compacted, "session.settled"]);
      }
      const used = talk.model.requests.reduce(
        (sum, { messages }) =>
          sum + messages.reduce((all, each) => all + Math.ceil(textOf(each).length / 4), 20),
        0,
      );
      assert.equal(spent, used);
      const [first, second] = talk.model.requests.filter(isSummary).map(lastOf);
      assert.ok(first && second && !first.includes("<summary-so-far>"));
      assert.ok(second.includes("<summary-so-far>\nSUMMARY 1,"), second.slice(0, 200));
      assert.ok(!second.includes("user: thing 1 "));
      assert.equal(talk.model.requests.filter(isSummary).length, 2);
    }),
  },
  {
    name: "8.3 a prompt that becomes too long within a turn is not sent again: the turn continues with a summary",
    run: conversationCase(async (talk) => {
      const { result, run } = await talk.take("look");
      assert.equal(result.status, "completed", result.error?.message);
      const prompts = talk.model.requests.filter((request) => !isSummary(request));
      // Each of the twelve calls is made once, and every result follows its call.
      assert.equal(prompts.length, 13);
      for (const { messages } of prompts)
        for (const [index, { role }] of messages.entries())
          if (role === "tool") assert.equal(textOf(messages[index - 1] ?? ChatMessage.user("")), "[look]");
      assert.ok((await talk.compactions()).length >= 2);
      const ends = (await historyOf(run)).filter(({ type }) => type === "compaction.end");
      assert.ok(ends.length >= 2);
      const window = await talk.window();
      assert.match(window[0] ?? "", /^Summary of the conversation so far:\n\nSUMMARY/);
      assert.match(window.at(-1) ?? "", /^answer/);
    }),
  },
  {
    name: "8.1 a compaction requested by a user is a separate tree",
    run: conversationCase(async (talk) => {
      for (const number of [1, 2, 3]) await talk.take(question(number));
      const entry = await talk.compact();
      assert.deepEqual(
        (await talk.compactions()).map(({ id }) => id),
        [entry],
      );
      assert.equal(await talk.compact(), null);
      assert.equal((await talk.window()).length, 3);
    }),
  },
  {
    name: "8.5 a compaction that the budget refuses changes nothing, and the next turn tries again",
    run: conversationCase(async (talk) => {
      let number = 1;
      for (;;) {
        assert.ok(number < 60, "no compaction was tried");
        const { run, result } = await talk.take(question(number), { budget: { maxTokens: 2_500 } });
        number += 1;
        assert.equal(result.status, "completed", result.error?.message);
        if (await hasTried(run)) break;
      }
      assert.deepEqual(await talk.compactions(), []);
      assert.equal(talk.model.requests.filter(isSummary).length, 0);
      await talk.take(question(number));
      assert.equal((await talk.compactions()).length, 1);
    }),
  },
];
