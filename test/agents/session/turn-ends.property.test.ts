import assert from "node:assert/strict";
import * as fc from "fast-check";
import {
  agent,
  ChatMessage,
  createRuntime,
  type ContentBlock,
  type ExecutionBudget,
  type Guardrail,
  type Model,
  ModelError,
  type ModelResponse,
  type RunResult,
  tool,
  ToolResult,
} from "reeve";
import { Session, type SessionEntry } from "reeve/store";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { test } from "vitest";
import { z } from "zod";
import { readAll } from "../../runtime/read-all.ts";
import { abbreviate } from "./talk.ts";
import { assertPaired } from "./window-rules.ts";
import { propertyRuns } from "../../effort.ts";

const numRuns = propertyRuns(300);

/** The behaviour of the model in one call. */
type Act =
  | "answer"
  | "wrong"
  | "blocked"
  | "empty"
  | "look"
  | "mail"
  | "both"
  | "same"
  | "halt"
  | "stop"
  | "cut"
  | "fail";

const text = (value: string): ContentBlock => ({ type: "text", text: value });

/** The tools that an act calls. */
const called: Readonly<Partial<Record<Act, readonly string[]>>> = {
  look: ["look"],
  same: ["look"],
  mail: ["mail"],
  both: ["look", "mail"],
  halt: ["halt"],
  stop: ["stop"],
};

/** A model that acts by a list. After it, and where it has no tools, it answers. */
class ActingModel implements Model {
  readonly id = "acting";
  readonly maxOutputTokens = 400;
  readonly acts: readonly Act[];
  #calls = 0;

  constructor(acts: readonly Act[]) {
    this.acts = acts;
  }

  async generate({ tools, maxOutputTokens }: Parameters<Model["generate"]>[0]): Promise<ModelResponse> {
    const n = (this.#calls += 1);
    const act = this.acts[n - 1] ?? "answer";
    if (act === "fail") throw new ModelError({ kind: "auth", message: "no" });
    const names = called[act] ?? [];
    const calls = names.map((name, index): ContentBlock => {
      return { type: "tool-call", callId: `${n}.${index}`, name, input: { n: act === "same" ? 0 : n } };
    });
    const usage = { input: 100, output: 100 };
    if (act === "cut") {
      const content: readonly ContentBlock[] = [
        { type: "tool-call", callId: `${n}`, name: "look", input: {} },
      ];
      const cut = { input: 100, output: maxOutputTokens };
      return { message: { role: "assistant", content }, usage: cut, finishReason: "length" };
    }
    if (calls.length > 0 && tools.length > 0) {
      const content = [...(n % 2 === 0 ? [text(`{"n":${n}}`)] : []), ...calls];
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    const said = act === "wrong" ? "no JSON" : act === "blocked" ? '{"n":-1}' : `{"n":${n}}`;
    const content = act === "empty" ? [] : [text(said)];
    return { message: { role: "assistant", content }, usage, finishReason: "stop" };
  }
}

const input = z.object({ n: z.number().optional() });
const toolNamed = (name: string, risk: "safe" | "high") =>
  tool({ name, description: name, input, risk, execute: () => "done" });
const stop = tool({
  name: "stop",
  description: "Gives the answer",
  input,
  risk: "safe",
  execute: ({ n = 0 }) => ToolResult.terminate({ n }),
});
const tools = [toolNamed("look", "safe"), toolNamed("mail", "high"), toolNamed("halt", "safe"), stop];
const guardrail: Guardrail = {
  name: "strict",
  onOutput: ({ text: said }) =>
    said.includes("-1") ? { kind: "block", reason: "below zero" } : { kind: "allow" },
  beforeCall: ({ tool: name }) => (name === "halt" ? { kind: "halt", reason: "halted" } : { kind: "allow" }),
};

const acts = fc.array(
  fc.constantFrom<Act>(
    ...([
      "answer",
      "wrong",
      "blocked",
      "empty",
      "look",
      "mail",
      "both",
      "same",
      "halt",
      "stop",
      "cut",
      "fail",
    ] as const),
  ),
  { maxLength: 9 },
);
const budgets = fc.constantFrom<ExecutionBudget>(
  {},
  { maxTurns: 3 },
  { maxTurns: 5 },
  { maxTokens: 1_500 },
  { maxTokens: 3_000 },
);

/** Runs one turn. Returns its end and the conversation's entries. */
async function take(
  given: readonly Act[],
  {
    budget,
    hasSchema,
    replayEveryStep,
  }: { budget: ExecutionBudget; hasSchema: boolean; replayEveryStep: boolean },
): Promise<{ readonly result: RunResult; readonly path: readonly SessionEntry[] }> {
  const lead = agent({
    name: "lead",
    model: new ActingModel(given),
    tools,
    budget,
    guardrails: [guardrail],
    permissions: "allow-all",
    ...(hasSchema && { output: z.object({ n: z.number() }) }),
  });
  await using runtime = createRuntime({
    agents: [lead],
    store: memoryStore(),
    engine: local({ replayEveryStep }),
  });
  const talk = await runtime.sessions.create(lead, { user: "ada" });
  const result = await talk.invoke("go");
  const { id, userId } = await talk.head();
  const session = new Session(runtime.store.sessions, { tenantId: null }, { id, userId });
  return { result, path: (await readAll(session.path())).toReversed() };
}

const toText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

test(`each of ${numRuns} turns that ends without interruption leaves a valid part of a prompt`, async () => {
  await fc.assert(
    fc.asyncProperty(
      acts,
      budgets,
      fc.boolean(),
      fc.boolean(),
      async (given, budget, hasSchema, replayEveryStep) => {
        const { result, path } = await take(given, { budget, hasSchema, replayEveryStep });
        const messages = path.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
        const { status, output } = result;
        if (path.length === 0) return assert.ok(status === "failed" || output === null);
        const isClosed = path.at(-1)?.type === "custom";
        assert.equal(isClosed, status === "failed" || (status === "landed" && output === null));
        assert.equal(messages[0]?.role, "user");
        if (isClosed) return assert.ok(messages.some(({ content }) => content.some(isMail)));
        assertPaired(messages);
        const last = messages.at(-1) ?? ChatMessage.user("");
        assert.equal(last.role, "assistant");
        assert.ok(last.content.every(({ type }) => type === "text"));
        if (output !== "")
          assert.equal(JSON.stringify(ChatMessage.text(last)), JSON.stringify(toText(output)));
      },
    ),
    { numRuns },
  );
});

const textsOfPath = (path: readonly SessionEntry[]): readonly string[] =>
  path.flatMap((entry) =>
    entry.type === "message" ? [`${entry.message.role}: ${abbreviate(entry.message)}`] : [],
  );

test.each([true, false])(
  "repairs are stored as part of the turn, in order (replayed: %s)",
  async (replayEveryStep) => {
    const { result, path } = await take(["wrong", "look", "blocked", "answer"], {
      budget: {},
      hasSchema: true,
      replayEveryStep,
    });
    assert.deepEqual(result.output, { n: 4 });
    const again = "Answer again with the corrected JSON only.";
    assert.deepEqual(textsOfPath(path), [
      "user: go",
      "assistant: no JSON",
      `user: That does not match: it is not JSON. ${again}`,
      'assistant: {"n":2} ?2.0',
      "tool: !2.0",
      'assistant: {"n":-1}',
      "user: That answer was blocked: below zero. Answer again without it.",
      'assistant: {"n":4}',
    ]);
  },
);

test.each([true, false])(
  "the answer of a landing is stored as part of the turn (replayed: %s)",
  async (replayEveryStep) => {
    const { result, path } = await take(["look", "look"], {
      budget: { maxTurns: 3 },
      hasSchema: false,
      replayEveryStep,
    });
    assert.equal(result.status, "landed");
    assert.deepEqual(textsOfPath(path).slice(-2), ["tool: !2.0", 'assistant: {"n":3}']);
  },
);

test.each([true, false])(
  "a landing without a call ends with the text that it took (replayed: %s)",
  async (replayEveryStep) => {
    const { result, path } = await take(["look", "look", "look", "empty"], {
      budget: { maxTurns: 4 },
      hasSchema: false,
      replayEveryStep,
    });
    assert.deepEqual([result.status, result.output], ["landed", '{"n":2}']);
    assert.deepEqual(textsOfPath(path).slice(-2), ["tool: !3.0", 'assistant: {"n":2}']);
  },
);

test.each([true, false])(
  "the message of the loop detection is stored as part of the turn (replayed: %s)",
  async (replayEveryStep) => {
    const { result, path } = await take(["mail", ...Array.from({ length: 7 }, () => "same" as const)], {
      budget: {},
      hasSchema: false,
      replayEveryStep,
    });
    assert.equal(result.status, "completed");
    const results = path.flatMap((entry) => (entry.type === "message" ? toResults(entry.message) : []));
    assert.equal(results[2], "done Note: the same result 2 times.");
    assert.equal(results[6], "not called: this call gave the same result 5 times; try something else");
  },
);

const toResults = ({ content }: ChatMessage): readonly string[] =>
  content.flatMap((block) =>
    block.type === "tool-result"
      ? [block.content.map((each) => (each.type === "text" ? each.text : "")).join(" ")]
      : [],
  );

const isMail = (block: ContentBlock): boolean => block.type === "tool-call" && block.name === "mail";
