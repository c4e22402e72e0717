import assert from "node:assert/strict";
import { agent, getPromptWindow, Session, tool } from "#agents";
import {
  AgentId,
  ChatMessage,
  type EntryId,
  type HistoryRetention,
  type Model,
  ModelError,
  SessionId,
  type Store,
  UserId,
} from "#kernel";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { memoryStore } from "#stores/memory";
import { anyInput } from "./any-input.ts";
import { eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, waitForEvent } from "./history.ts";

/** The roles and texts of a prompt, one line each. */
const formatPrompt = (messages: readonly ChatMessage[]): string =>
  messages.map((message) => `${message.role}: ${ChatMessage.text(message)}`).join(" | ");

/**
 * A model that answers with its prompt. The last user message decides: `look` and `mail` call that tool first, `fail`
 * and `mail and fail` end in an error that is not retried, `hang` waits until it is stopped.
 */
const mirror: Model = {
  id: "mirror",
  async generate({ messages }, { signal }) {
    const last = messages.at(-1);
    const asked = ChatMessage.text(messages.findLast(({ role }) => role === "user") ?? ChatMessage.user(""));
    const wanted = ["look", "mail"].find((name) => asked.startsWith(name));
    const usage = { input: 10, output: 10 };
    if (wanted && last?.role === "user") {
      const content = [{ type: "tool-call", callId: "1", name: wanted, input: {} }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    if (asked.endsWith("fail")) throw new ModelError({ kind: "auth", message: "no" });
    if (asked.endsWith("hang"))
      await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    return { message: ChatMessage.assistant(formatPrompt(messages)), usage, finishReason: "stop" };
  },
};

const look = tool({
  name: "look",
  description: "Looks something up",
  input: anyInput,
  risk: "safe",
  execute: () => "1987",
});
const mail = tool({
  name: "mail",
  description: "Sends a mail",
  input: anyInput,
  risk: "high",
  execute: () => "sent",
});

const options = { name: "writer", model: mirror, tools: [look, mail], permissions: "allow-all" } as const;
const writer = agent({ ...options, instructions: "Be brief." });

/** A conversation of a user, with the queries that the cases need. */
class Talk {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly session: Session;
  readonly #start: StartOptions;

  constructor(
    runtime: Runtime,
    { id = "talk", user = "ada" }: { readonly id?: string; readonly user?: string } = {},
  ) {
    this.runtime = runtime;
    this.store = runtime.store;
    const key = { id: SessionId.of(id), userId: UserId.of(user) };
    this.session = new Session(this.store.sessions, { tenantId: null }, key);
    this.#start = { session: id, user, onBusy: "queue" };
  }

  start(text: string, more: StartOptions = {}): Promise<RunHandle<string>> {
    return this.runtime.start(writer, text, { ...this.#start, ...more });
  }

  /** The answer to one message. */
  async ask(text: string, more?: StartOptions): Promise<string> {
    const { output, status } = await (await this.start(text, more)).result();
    return typeof output === "string" ? output : status;
  }

  /** Returns all stored entries of every branch. */
  async listStored(): Promise<readonly string[]> {
    const lines: string[] = [];
    for await (const entry of this.session.entries())
      lines.push(
        `${entry.branch ?? "-"} ${entry.type === "message" ? formatPrompt([entry.message]) : entry.type}`,
      );
    return lines;
  }

  async window(): Promise<string> {
    return formatPrompt(await getPromptWindow(this.session));
  }

  /** Waits until no tree has the turn: until a turn that was not saved is settled. */
  async waitForIdle(): Promise<void> {
    const { id, key } = this.session;
    const owner = key.userId === null ? {} : { user: key.userId };
    await eventually("the conversation is free", async () => (await this.runtime.turn(id, owner)) === null);
  }
}

const conversationCase =
  (body: (talk: Talk) => Promise<void>, agents = [writer]): EngineCase["run"] =>
  (harness) =>
    onRuntime(harness, { agents, store: memoryStore() }, (runtime) => body(new Talk(runtime)));

/** Conversations: what a turn stores, and what the next one sees. */
export const conversationCases: readonly EngineCase[] = [
  {
    name: "8.1 a turn sees the earlier conversation, calls and results included",
    run: conversationCase(async (talk) => {
      assert.equal(
        await talk.ask("look it up"),
        "system: Be brief. | user: look it up | assistant:  | tool: ",
      );
      const before = await talk.window();
      assert.equal(await talk.ask("go on"), `system: Be brief. | ${before} | user: go on`);
      assert.deepEqual(
        (await talk.listStored()).map((line) => line.slice(0, 8)),
        ["- user: ", "- assist", "- tool: ", "- assist", "- user: ", "- assist"],
      );
    }),
  },
  {
    name: "8.1 a turn that fails leaves no trace",
    run: conversationCase(async (talk) => {
      await talk.ask("hello");
      const before = [await talk.listStored(), await talk.window()];
      const failed = await (await talk.start("look and fail")).result();
      assert.equal(failed.status, "failed");
      await talk.waitForIdle();
      assert.deepEqual([await talk.listStored(), await talk.window()], before);
      assert.ok(!(await talk.ask("again")).includes("look and fail"));
    }),
  },
  {
    name: "8.1 a turn that fails after a tool had an outside effect stays, with how it ended",
    run: conversationCase(async (talk) => {
      const failed = await (await talk.start("mail and fail")).result();
      assert.equal(failed.status, "failed");
      await talk.waitForIdle();
      const stored = await talk.listStored();
      assert.equal(stored.length, 4);
      assert.ok(stored[3]?.startsWith("- custom"), "closed by how it ended");
      const next = await talk.ask("what happened?");
      assert.match(
        next,
        /user: mail and fail \| assistant:  \| tool: {2}\| user: .* \| user: what happened\?/,
      );
    }),
  },
  {
    name: "8.1 a cancelled turn keeps the messages it had made",
    run: conversationCase(async (talk) => {
      const run = await talk.start("look and hang");
      await waitForEvent(run, "model.start", ({ step }) => !step.endsWith(":1"));
      await run.cancel();
      assert.equal((await run.result()).status, "cancelled");
      await talk.waitForIdle();
      const next = await talk.ask("and now?");
      assert.match(next, /user: look and hang \| assistant:  \| tool: {2}\| user: .* \| user: and now\?/);
    }),
  },
  {
    name: "8.1 a turn can follow an earlier entry: later entries are not shown, and stay",
    run: conversationCase(async (talk) => {
      await talk.ask("one");
      const after = await talk.session.leaf();
      await talk.ask("two");
      const answer = await talk.ask("three", { after });
      assert.ok(!answer.includes("two"));
      assert.equal((await talk.listStored()).length, 6);
      assert.ok(!(await talk.window()).includes("two"));
      const first: EntryId | null = null;
      assert.equal(await talk.ask("four", { after: first }), "system: Be brief. | user: four");
    }),
  },
  {
    name: "8.1 users of a tenant with equal session names have separate conversations",
    run: conversationCase(async (talk) => {
      const other = new Talk(talk.runtime, { user: "bob" });
      for (const word of ["one", "two", "three"]) {
        await talk.ask(`ada ${word}`);
        await other.ask(`bob ${word}`);
      }
      const [ada, bob] = [await talk.window(), await other.window()];
      assert.ok(ada.includes("ada three") && !ada.includes("bob"));
      assert.ok(bob.includes("bob three") && !bob.includes("ada"));
    }),
  },
  {
    name: "8.1 a run with non-permanent content sees the conversation and writes nothing to it",
    run: conversationCase(async (talk) => {
      await talk.ask("hello");
      const before = await talk.listStored();
      for (const retention of ["none", "run"] satisfies HistoryRetention[])
        assert.ok((await talk.ask("and?", { retention })).includes("user: hello"));
      await talk.waitForIdle();
      assert.deepEqual(await talk.listStored(), before);
    }),
  },
  {
    name: "8.1 a run without a given conversation writes a new one",
    run: conversationCase(async (talk) => {
      const run = await talk.runtime.start(writer, "look it up", { user: "ada" });
      await run.result();
      const saved = await waitForEvent(run, "turn.saved");
      const [listed] = (await talk.runtime.runs.tree(run.treeId)).slice(0, 1);
      assert.ok(listed);
      const own = new Talk(talk.runtime, { id: listed.sessionId });
      assert.equal((await own.listStored()).length, 4);
      assert.equal(await own.session.leaf(), saved.leaf);
    }),
  },
  {
    name: "8.2 a turn emits its events in this order",
    run: conversationCase(async (talk) => {
      const run = await talk.start("look it up");
      await run.result();
      const types = (await historyOf(run)).map(({ type }) => type);
      assert.deepEqual(
        types.filter((type) => !type.startsWith("budget.")),
        [
          "run.start",
          "turn.start",
          "cycle.start",
          "model.start",
          "model.end",
          "tool.start",
          "tool.end",
          "cycle.end",
          "cycle.start",
          "model.start",
          "model.end",
          "cycle.end",
          "turn.saved",
          "turn.end",
          "session.settled",
          "run.end",
        ],
      );
    }),
  },
  {
    name: "8.1 a run that answers several messages saves after each, even across fresh executions",
    async run(harness) {
      const restless = agent({ ...options, name: "restless", continueAfter: 4 });
      await onRuntime(harness, { agents: [restless], store: memoryStore() }, async (runtime) => {
        const talk = new Talk(runtime);
        const owner = { session: "talk", user: "ada" };
        const run = await runtime.start(restless, "look at one", owner);
        await run.followUp("look at two");
        assert.equal((await run.result()).status, "completed");
        await talk.waitForIdle();
        const stored = await talk.listStored();
        assert.ok(stored.every((line) => line.startsWith("- ")));
        const users = stored.filter((line) => line.startsWith("- user"));
        assert.deepEqual(users, ["- user: look at one", "- user: look at two"]);
        const next = await runtime.start(restless, "three", owner);
        const answer = String((await next.result()).output);
        assert.ok(answer.startsWith("user: look at one | assistant:  | tool: "));
        assert.ok(answer.endsWith("| user: three"));
      });
    },
  },
  {
    name: "8.1 a file of an earlier turn is named in the next one, and not sent again",
    run: conversationCase(async (talk) => {
      const data = new Uint8Array(20_000);
      const input = { text: "read this", files: [{ mediaType: "image/png", name: "map.png", data }] };
      const owner = { session: "talk", user: "ada" };
      const first = await (await talk.runtime.start(writer, input, owner)).result();
      assert.equal(first.status, "completed");
      await talk.waitForIdle();
      const next = await talk.ask("and now?");
      assert.match(next, /not shown again: map.png, image\/png, 20000 bytes\]/);
    }),
  },
  {
    name: "8.1 a child is not shown the conversation of its parent",
    async run(harness) {
      const child = agent({ ...options, name: "child" });
      const lead = {
        id: AgentId.of("lead"),
        run: async (ctx: Parameters<typeof writer.run>[0]) =>
          (await ctx.askOrThrow(child, "hello", { timeoutS: 60 })).text,
      };
      await onRuntime(harness, { agents: [writer, child, lead], store: memoryStore() }, async (runtime) => {
        const talk = new Talk(runtime);
        await talk.ask("a secret");
        await talk.waitForIdle();
        const run = await runtime.start(lead, "go", { session: "talk", user: "ada" });
        assert.equal((await run.result()).output, "user: hello");
      });
    },
  },
];
