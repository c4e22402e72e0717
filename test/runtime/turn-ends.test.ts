import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  agent,
  type AgentOptions,
  ChatMessage,
  type ContentBlock,
  createRuntime,
  type Guardrail,
  MiddlewareTermination,
  type Model,
  type ModelResponse,
  type RunResult,
  tool,
  ToolResult,
} from "reeve";
import { getPromptWindow, Session, type SessionEntry, type Store } from "reeve/store";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { assertPaired } from "../agents/session/window-rules.ts";
import { readAll } from "./read-all.ts";

/** The behaviour of the model after its first call, which was answered by a tool. */
type Behaviour = "answer" | "hang" | "look on" | "fail on" | "repeat" | "stop";

interface End {
  readonly does: Behaviour;
  readonly options?: Partial<AgentOptions<unknown>>;
  /** Cancels the turn once the model hangs. */
  readonly cancel?: true;
  readonly ends: readonly [RunResult["status"], RunResult["stopReason"]];
  /** The conversation afterwards: the whole turn; no trace, or closed if a mail was sent; closed in any case. */
  readonly leaves: "whole" | "none" | "closed";
  /** The line for the model of the next turn, where the turn is closed. */
  readonly told?: string;
}

const guardrail = (rest: Omit<Guardrail, "name">): Partial<AgentOptions<unknown>> => ({
  guardrails: [{ name: "strict", ...rest }],
});
const failed = (reason: string): string => `The previous turn failed: ${reason}.`;
const stopped = (reason: string): string => `The previous turn was stopped: ${reason}.`;

const ends: Readonly<Record<string, End>> = {
  "an answer": { does: "answer", ends: ["completed", "answer"], leaves: "whole" },
  "the result of a tool": { does: "stop", ends: ["completed", "answer"], leaves: "whole" },
  "a landing by model calls": {
    does: "look on",
    options: { budget: { maxTurns: 4 } },
    ends: ["landed", "budget.turns"],
    leaves: "whole",
  },
  "a landing by tokens": {
    does: "look on",
    options: { budget: { maxTokens: 6_000 } },
    ends: ["landed", "budget.tokens"],
    leaves: "whole",
  },
  "a landing by cost": {
    does: "look on",
    options: { budget: { maxCostUsd: 0.006 } },
    ends: ["landed", "budget.cost"],
    leaves: "whole",
  },
  "a budget that leaves no answer": {
    does: "answer",
    options: { budget: { maxTurns: 1 } },
    ends: ["failed", "budget.turns"],
    leaves: "none",
    told: failed("its limit on model calls was reached"),
  },
  "an output guardrail": {
    does: "answer",
    options: guardrail({ onOutput: () => ({ kind: "block", reason: "no" }) }),
    ends: ["failed", "guardrail"],
    leaves: "none",
    told: failed("a guardrail stopped it"),
  },
  "a guardrail that halts at a call": {
    does: "fail on",
    options: guardrail({
      beforeCall: ({ tool: name }) => (name === "break" ? { kind: "halt", reason: "no" } : { kind: "allow" }),
    }),
    ends: ["failed", "guardrail"],
    leaves: "none",
    told: failed("a guardrail stopped it"),
  },
  "loop detection": {
    does: "fail on",
    ends: ["failed", "guardrail"],
    leaves: "none",
    told: failed("a guardrail stopped it"),
  },
  "an answer that repeats itself": {
    does: "repeat",
    ends: ["failed", "guardrail"],
    leaves: "none",
    told: failed("a guardrail stopped it"),
  },
  "an answer of the wrong form": {
    does: "answer",
    options: { output: z.object({ n: z.number() }) },
    ends: ["failed", "error"],
    leaves: "none",
    told: failed("an error ended it"),
  },
  "middleware that terminates": {
    does: "answer",
    options: {
      middleware: {
        chat: [
          {
            process: async ({ messages }, next) => {
              if (messages.at(-1)?.role === "tool") throw new MiddlewareTermination({ reason: "enough" });
              await next();
            },
          },
        ],
      },
    },
    ends: ["failed", "terminated"],
    leaves: "none",
    told: failed("a tool ended it"),
  },
  "a cancel": {
    does: "hang",
    cancel: true,
    ends: ["cancelled", "cancelled"],
    leaves: "closed",
    told: stopped("cancelled by the user"),
  },
  "a deadline": {
    does: "hang",
    options: { budget: { deadlineS: 0.3 } },
    ends: ["cancelled", "deadline"],
    leaves: "closed",
    told: stopped("its deadline passed"),
  },
};

const text = (value: string): readonly ContentBlock[] => [{ type: "text", text: value }];

/** A model that calls the tool named by the user, then follows the command. In the first turn it only answers. */
class EndingModel implements Model {
  readonly id = "ending";
  readonly price = { input: 1_000_000, output: 1_000_000 };
  readonly maxOutputTokens = 4_000;
  readonly does: Behaviour;
  readonly hangs = Promise.withResolvers<void>();
  #calls = 0;

  constructor(does: Behaviour) {
    this.does = does;
  }

  async generate(
    { messages, tools }: Parameters<Model["generate"]>[0],
    { signal }: Parameters<Model["generate"]>[1],
  ): Promise<ModelResponse> {
    const n = (this.#calls += 1);
    const asked = ChatMessage.text(messages.findLast(({ role }) => role === "user") ?? ChatMessage.user(""));
    const usage = { input: 300, output: 300 };
    const calling = (name: string): ModelResponse => {
      const block = { type: "tool-call", callId: `${n}`, name, input: { n } } as const;
      return { message: { role: "assistant", content: [block] }, usage, finishReason: "tool-calls" };
    };
    const saying = (said: string): ModelResponse => {
      return { message: { role: "assistant", content: text(said) }, usage, finishReason: "stop" };
    };
    if (tools.length === 0 || asked === "hello" || asked === "again") return saying("well");
    if (messages.at(-1)?.role === "user" && (asked === "look" || asked === "mail")) return calling(asked);
    if (this.does === "look on") return calling("look");
    if (this.does === "fail on") return calling("break");
    if (this.does === "stop") return calling("stop");
    if (this.does === "repeat") return saying("over and over ".repeat(2_000));
    if (this.does === "answer") return saying("done");
    this.hangs.resolve();
    return await new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}

const input = z.object({ n: z.number() });
const toolNamed = (name: string, risk: "safe" | "high", execute: () => unknown) =>
  tool({ name, description: name, input, risk, execute });
let looked = 0;
const tools = [
  toolNamed("look", "safe", () => `done ${(looked += 1)}`),
  toolNamed("mail", "high", () => "sent"),
  toolNamed("stop", "safe", () => ToolResult.terminate("done")),
  toolNamed("break", "safe", () => {
    throw new Error("broken");
  }),
];

let folder: string;
let stores: Readonly<Record<"memory" | "sqlite", Store>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-turn-ends-"));
  stores = { memory: memoryStore(), sqlite: await sqliteStore({ path: join(folder, "store.db") }) };
});
afterAll(async () => {
  await Promise.all(Object.values(stores).map((store) => store[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true });
});

const places = (["memory", "sqlite"] as const).flatMap((store) =>
  [false, true].map((replayed) => ({ store, replayed, shown: replayed ? "replayed" : "not replayed" })),
);
const cases = Object.keys(ends).flatMap((name) => [[name, "look"] as const, [name, "mail"] as const]);

describe.each(places)("with $store, $shown", ({ store, replayed }) => {
  test.each(cases)(
    "8.1 a turn that ends by %s after a %s leaves the specified entries",
    async (name, first) => {
      const { does, options = {}, cancel, ends: expected, leaves, told } = ends[name] ?? fail();
      const model = new EndingModel(does);
      const begun = agent({ name: "lead", model, tools, permissions: "allow-all" });
      const lead = agent({ ...begun, ...options, model, tools, permissions: "allow-all" });
      const engine = local({ replayEveryStep: replayed });
      await using runtime = createRuntime({ agents: [lead], store: stores[store], engine });
      const talk = await runtime.sessions.create(lead, { user: "ada" });
      const { id, userId } = await talk.head();
      const session = new Session(runtime.store.sessions, { tenantId: null }, { id, userId });
      const run = await talk.start(first);
      if (cancel) {
        await model.hangs.promise;
        await run.cancel();
      }
      const { status, stopReason } = await run.result();
      expect([status, stopReason]).toEqual(expected);
      await talk.waitForIdle();
      expect(await talk.phase()).toBe("idle");
      const path = (await readAll(session.path())).toReversed();
      const window = await getPromptWindow(session);
      const left = leaves === "none" && first === "mail" ? "closed" : leaves;
      expect(entriesLeft(path, { status, stopReason })).toBe(left);
      expect((await readAll(session.entries())).length).toBe(path.length);
      expect(path.every(({ branch }) => branch === null)).toBe(true);
      assertPaired(window);
      const line = left === "closed" ? ChatMessage.text(window.at(-1) ?? ChatMessage.user("")) : undefined;
      expect(line).toBe(left === "closed" ? told : undefined);
    },
  );
});

/** The entries that a turn has left on the main path. */
function entriesLeft(
  path: readonly SessionEntry[],
  end: Pick<RunResult, "status" | "stopReason">,
): End["leaves"] | "something else" {
  const last = path.at(-1);
  if (!last) return "none";
  if (last.type === "message") return last.message.role === "assistant" ? "whole" : "something else";
  const isEnd = last.type === "custom" && last.kind === "turn-end" && isDeepStrictEqual(last.data, end);
  return isEnd ? "closed" : "something else";
}

function fail(): never {
  throw new Error("no such case");
}
