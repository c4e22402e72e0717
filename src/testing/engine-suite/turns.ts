import assert from "node:assert/strict";
import { agent, tool } from "#agents";
import {
  ChatMessage,
  ToolResult,
  type Agent,
  type EffectCall,
  type Guardrail,
  type Json,
  type Model,
} from "#kernel";
import type { Runtime, RunHandle } from "#runtime";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { eventually, onRuntime, type EngineCase } from "./harness.ts";
import { anyInput } from "./any-input.ts";
import { historyOf } from "./history.ts";

const effect = (name: string, execute: (input: unknown, call: EffectCall) => unknown) =>
  tool({ name, description: name, input: anyInput, risk: "safe", execute });

/** Calls `wait` first, then answers with the newest user message; without `secret` once told so. */
const echo: Model = {
  id: "echo",
  async generate({ messages }) {
    const usage = { input: 10, output: 10 };
    const asked = messages.findLast(({ role }) => role === "user");
    const text = asked ? ChatMessage.text(asked) : "";
    if (text === "go" && messages.at(-1)?.role === "user") {
      const content = [{ type: "tool-call", callId: "1", name: "wait", input: {} }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    const answer = text.startsWith("That answer") ? "public" : `heard ${text}`;
    return { message: ChatMessage.assistant(answer), usage, finishReason: "stop" };
  },
};
const wait = tool({
  name: "wait",
  description: "Waits for a signal",
  input: anyInput,
  risk: "safe",
  run: (ctx) => ctx.waitFor("end of the wait"),
});
const strict: Guardrail = {
  name: "strict",
  onOutput: ({ text }) =>
    text.includes("secret") ? { kind: "block", reason: "a secret" } : { kind: "allow" },
};
const options = { name: "writer", model: echo, tools: [wait], guardrails: [strict] } as const;

/** The messages to an agent in one run. */
interface Talk {
  readonly writer: Agent<string>;
  readonly steering: readonly string[];
  readonly followUps: readonly string[];
}

/** Runs a turn with further input while its tool works. Returns the run after its end. */
async function takeTurn(runtime: Runtime, { writer, steering, followUps }: Talk): Promise<RunHandle<string>> {
  const run = await runtime.start(writer, "go", { session: "talk" });
  for (const text of followUps) await run.followUp(text);
  for (const text of steering) await run.steer(text);
  await run.signal("end of the wait");
  const { status } = await run.result();
  assert.equal(status, "completed");
  return run;
}

/** The main path of the conversation, oldest first. */
async function pathOf(runtime: Runtime): Promise<readonly string[]> {
  const talk = await runtime.sessions.get("talk");
  await talk.waitForIdle();
  const { items } = await talk.messages();
  return items.toReversed().map((message) => `${message.role}: ${ChatMessage.text(message)}`);
}

const turnOrder = [
  ["run.start", "turn.start"],
  ["cycle.start", "model.start", "model.end", "tool.start", "tool.end", "cycle.end"],
  ["cycle.start", "model.start", "model.end", "guardrail.trip", "cycle.end"],
  ["cycle.start", "model.start", "model.end", "cycle.end", "turn.saved", "turn.end"],
  ["turn.start", "cycle.start", "model.start", "model.end", "cycle.end", "turn.saved", "turn.end"],
  ["session.settled", "run.end"],
].flat();

/** Section 7.4 and 8.2: a turn's tool calls, and the order of its events. */
export const turnCases: readonly EngineCase[] = [
  {
    name: "7.4 a turn ends without another model call if all results of a batch terminate",
    async run(harness) {
      const order = effect("order", () => ToolResult.terminate("Order 7 is placed."));
      const look = effect("look", () => "nothing");
      const model = scriptedModel([call("order", {}, ["look", {}]), call("order", {})]);
      const writer = agent({ name: "writer", model, tools: [order, look] });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["completed", "Order 7 is placed."]);
        assert.equal(model.requests.length, 2);
      });
    },
  },
  {
    name: "7.4 a tool reports progress to watchers while it runs",
    async run(harness) {
      const seen: Json[] = [];
      const read = effect("read", async (_, { update }) => {
        // The reader may still be on its way.
        await eventually("the reader is told", () => {
          update({ pages: 3 });
          return seen.length > 0;
        });
        return "read";
      });
      const model = scriptedModel([call("read", {}), say("done")]);
      const writer = agent({ name: "writer", model, tools: [read] });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        for await (const { kind, update } of run.deltas()) {
          assert.equal(kind === "tool-update", update !== undefined);
          if (update) seen.push(update.tool, update.progress);
        }
        assert.deepEqual(seen.slice(0, 2), ["read", { pages: 3 }]);
        assert.equal((await run.result()).output, "done");
      });
    },
  },
  {
    name: "8.2 a turn with tools, steering, a repair and a follow-up emits its events in this order",
    async run(harness) {
      const writer = agent(options);
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const run = await takeTurn(runtime, { writer, steering: ["secret"], followUps: ["more"] });
        const types = (await historyOf(run)).map(({ type }) => type);
        assert.deepEqual(
          types.filter((type) => !type.startsWith("budget.")),
          turnOrder,
        );
        assert.deepEqual(await pathOf(runtime), [
          "user: go",
          "assistant: ",
          "tool: ",
          "user: secret",
          "assistant: heard secret",
          "user: That answer was blocked: a secret. Answer again without it.",
          "assistant: public",
          "user: more",
          "assistant: heard more",
        ]);
      });
    },
  },
  {
    name: "6.8 steering is part of the turn; follow-ups are separate turns, in order, even across fresh executions",
    async run(harness) {
      for (const continueAfter of [2_000, 3]) {
        const writer = agent({ ...options, continueAfter });
        await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
          const said = { steering: ["left", "right"], followUps: ["one", "two", "three"] };
          const run = await takeTurn(runtime, { writer, ...said });
          assert.equal((await run.result()).output, "heard three");
          assert.deepEqual(await pathOf(runtime), [
            "user: go",
            "assistant: ",
            "tool: ",
            "user: left",
            "user: right",
            "assistant: heard right",
            ...said.followUps.flatMap((text) => [`user: ${text}`, `assistant: heard ${text}`]),
          ]);
          const events = (await historyOf(run)).map(({ type }) => type);
          const count = (wanted: string): number => events.filter((type) => type === wanted).length;
          assert.deepEqual(["turn.saved", "turn.end", "session.settled"].map(count), [4, 4, 1]);
        });
      }
    },
  },
];
