import {
  agent,
  ChatMessage,
  createRuntime,
  type Model,
  ModelError,
  type ModelRequest,
  type Runtime,
  tool,
} from "reeve";
import { type HistoryRetention } from "#kernel";
import { Session, type SessionEntry } from "reeve/store";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readAll } from "./read-all.ts";

/** The text of a message, calls and results included. */
function textOf({ content }: ChatMessage): string {
  const parts = content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool-call") return `[calls ${block.name}]`;
    return block.type === "tool-result" ? textOf({ role: "user", content: block.content }) : "";
  });
  return parts.join("");
}

const isSummary = ({ messages }: ModelRequest): boolean =>
  messages[0]?.role === "system" && textOf(messages[0]).startsWith("You summarise");

interface ModelOptions {
  /** The tokens from which on the provider refuses a prompt. */
  readonly refuses?: number;
  readonly contextWindow?: number;
  /** The number of tool calls of a turn. */
  readonly wanted?: number;
}

/** A model that calls a tool this many times in sequence, and refuses prompts that are too long. */
class LookingModel implements Model {
  readonly id = "looking";
  readonly maxOutputTokens = 100;
  readonly price = { input: 1_000_000, output: 1_000_000 };
  readonly contextWindow: number | undefined;
  readonly sent: ModelRequest[] = [];
  readonly refused: ModelRequest[] = [];
  readonly #refuses: number;
  readonly #wanted: number;

  constructor({ refuses = Infinity, contextWindow, wanted = 12 }: ModelOptions) {
    this.contextWindow = contextWindow;
    this.#refuses = refuses;
    this.#wanted = wanted;
  }

  get prompts(): readonly ModelRequest[] {
    return this.sent.filter((request) => !isSummary(request));
  }

  get summaries(): readonly ModelRequest[] {
    return this.sent.filter(isSummary);
  }

  async generate(request: ModelRequest): ReturnType<Model["generate"]> {
    const input = Math.round(request.messages.reduce((sum, message) => sum + textOf(message).length / 4, 0));
    const last = textOf(request.messages.at(-1) ?? ChatMessage.user(""));
    const seen = [...last.matchAll(/thing (\d+)/g)].map(([, number]) => Number(number));
    const answer = (text: string): Awaited<ReturnType<Model["generate"]>> => {
      return { message: ChatMessage.assistant(text), usage: { input, output: 10 }, finishReason: "stop" };
    };
    if (!isSummary(request) && input > this.#refuses) {
      this.refused.push(request);
      throw new ModelError({ kind: "context-overflow", message: "too long", unbilled: true });
    }
    this.sent.push(request);
    if (isSummary(request)) return answer(`SUMMARY of things ${seen.join(",")}`);
    const next = last.startsWith("look") ? 1 : Math.max(0, ...seen) + 1;
    if (next > this.#wanted || last.startsWith("and")) return answer("all seen");
    const content = [{ type: "tool-call", callId: `c${next}`, name: "look", input: { next } }] as const;
    return {
      message: { role: "assistant", content },
      usage: { input, output: 10 },
      finishReason: "tool-calls",
    };
  }
}

const look = tool({
  name: "look",
  description: "Looks at one thing",
  input: z.object({ next: z.number() }),
  risk: "safe",
  execute: ({ next }) => `thing ${next} ${"words ".repeat(120)}`,
});

function open(
  options: ModelOptions,
  replayEveryStep: boolean,
): { runtime: Runtime; model: LookingModel; lead: ReturnType<typeof build> } {
  const model = new LookingModel(options);
  const lead = build(model);
  return {
    model,
    lead,
    runtime: createRuntime({ agents: [lead], store: memoryStore(), engine: local({ replayEveryStep }) }),
  };
}

const build = (model: Model) =>
  agent({
    name: "lead",
    instructions: "Be brief.",
    model,
    tools: [look],
    compaction: { keepRecent: 400, reserve: 100 },
  });

/** Every result follows its call. */
function expectValid({ messages }: ModelRequest): void {
  const paired = messages.map((message, index) => {
    if (message.role === "tool") return textOf(messages[index - 1] ?? message) === "[calls look]";
    return textOf(message) !== "[calls look]" || messages[index + 1]?.role === "tool";
  });
  expect(paired).not.toContain(false);
}

const shapeOf = (requests: readonly ModelRequest[]): readonly string[] =>
  requests.map(({ messages }) =>
    messages.map((message) => `${message.role}: ${textOf(message).slice(0, 40)}`).join(" | "),
  );

describe.each([
  ["the provider refuses it", { refuses: 1_200 }],
  ["an estimate says so", { contextWindow: 1_000 }],
] as const)("8.3 a prompt that becomes too long within a turn, %s", (_why, options) => {
  test("is never sent twice: the turn continues with a summary, the same on replay", async () => {
    const shapes = [];
    for (const replayEveryStep of [false, true]) {
      const { runtime, model, lead } = open(options, replayEveryStep);
      await using _ = runtime;
      const talk = await runtime.sessions.create(lead, { id: "talk" });
      const { status, output, error, costMicros } = await talk.invoke("look at twelve things");
      expect([status, output, error]).toEqual(["completed", "all seen", undefined]);
      expect(model.summaries.length).toBeGreaterThanOrEqual(2);
      expect(model.refused.length).toBeLessThanOrEqual(model.summaries.length);
      model.sent.forEach(expectValid);
      // Each item is read once.
      expect(model.prompts).toHaveLength(13);
      await talk.invoke("and now?");
      const next = model.prompts.at(-1);
      expect(textOf(next?.messages[1] ?? ChatMessage.user(""))).toContain("SUMMARY of things");
      shapes.push({ costMicros, sent: shapeOf(model.sent), refused: shapeOf(model.refused) });
    }
    expect(shapes[1]).toEqual(shapes[0]);
  });

  test.each<HistoryRetention>(["none", "run"])(
    "a run with non-permanent content (%s) summarizes its messages in memory",
    async (retention) => {
      const shapes = [];
      for (const replayEveryStep of [false, true]) {
        const { runtime, model, lead } = open(options, replayEveryStep);
        await using _ = runtime;
        const talk = await runtime.sessions.create(lead, { id: "talk" });
        await talk.invoke("and hello");
        const { leaf } = await talk.head();
        expect(await talk.invoke("look at twelve things", { retention })).toMatchObject({
          output: "all seen",
        });
        expect(model.summaries.length).toBeGreaterThanOrEqual(2);
        expect(shapeOf(model.summaries)[0]).toContain("<messages>");
        model.sent.forEach(expectValid);
        expect((await talk.head()).leaf).toBe(leaf);
        shapes.push([shapeOf(model.sent), shapeOf(model.refused)]);
      }
      expect(shapes[1]).toEqual(shapes[0]);
    },
  );
});

test("8.3 a turn that overflows and then fails leaves no trace", async () => {
  const { runtime, lead } = open({ refuses: 30 }, true);
  await using _ = runtime;
  const talk = await runtime.sessions.create(lead, { id: "talk" });
  const entries = (): Promise<readonly SessionEntry[]> =>
    readAll(new Session(runtime.store.sessions, { tenantId: null }, { id: talk.id, userId: null }).entries());
  await talk.invoke("and hello");
  const before = await entries();
  const { status, error } = await talk.invoke(`look ${"at this ".repeat(40)}`);
  expect([status, error?.["kind"]]).toEqual(["failed", "context-overflow"]);
  expect(await entries()).toEqual(before);
});

test("8.3 with compaction off an overflow ends the turn at once", async () => {
  const model = new LookingModel({ refuses: 500 });
  const lead = agent({ name: "lead", model, tools: [look], compaction: false });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const talk = await runtime.sessions.create(lead);
  expect(await talk.invoke("look at twelve things")).toMatchObject({ status: "failed" });
  expect([model.refused.length, model.summaries.length]).toEqual([1, 0]);
});

test("8.3 a turn that goes on in fresh executions has its summaries there", async () => {
  const model = new LookingModel({ refuses: 1_200 });
  const lead = agent({
    name: "lead",
    model,
    tools: [look],
    compaction: { keepRecent: 400 },
    continueAfter: 6,
  });
  await using runtime = createRuntime({
    agents: [lead],
    store: memoryStore(),
    engine: local({ replayEveryStep: true }),
  });
  const talk = await runtime.sessions.create(lead);
  expect(await talk.invoke("look at twelve things")).toMatchObject({
    status: "completed",
    output: "all seen",
  });
  model.sent.forEach(expectValid);
  expect(model.prompts).toHaveLength(13);
  const roles = (await talk.messages()).items.map(({ role }) => role).toReversed();
  expect(roles).toEqual([
    "user",
    ...Array.from({ length: 12 }, () => ["assistant", "tool"]).flat(),
    "assistant",
  ]);
});
