import assert from "node:assert/strict";
import { agent, handoff, type HandoffOptions } from "#agents";
import { AgentId, ChatMessage, ModelError, type Agent, type Model } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { memoryStore } from "#stores/memory";
import { call, say, type ScriptedAnswer } from "../scripted-model.ts";
import { eventually, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";

/** The agents of a case, and what their models were shown. */
interface Desk {
  readonly desk: Agent;
  /** The prompts of each model, in order: `desk: user: Hello | ...`. */
  readonly prompts: string[];
}

/** Differences between the cases. Default: none. */
interface Difference {
  readonly terms?: HandoffOptions;
  /** Called before each call of the model of `billing`. */
  readonly beforeBilling?: (signal: AbortSignal) => Promise<void>;
  /** The answers of `billing`, by the number of its call. */
  readonly answerAsBilling?: (number: number) => ScriptedAnswer;
  readonly maxHandoffs?: number;
  /** Output tokens of the first call of `desk`. */
  readonly firstOutput?: number;
}

const price = { input: 1_000_000, output: 1_000_000 };

/** A desk that hands everything over to `billing`, unless it is given the conversation back. */
function createDesk({
  terms = {},
  beforeBilling,
  answerAsBilling = () => say("Paid."),
  maxHandoffs,
  firstOutput = 5,
}: Difference = {}): Desk {
  const prompts: string[] = [];
  const modelOf = (name: string, reply: (last: string, number: number) => ScriptedAnswer): Model => {
    let number = 0;
    return {
      id: name,
      price,
      generate: async ({ messages }, { signal }) => {
        if (name === "billing") await beforeBilling?.(signal);
        number += 1;
        const texts = messages.map((message) => `${message.role}: ${ChatMessage.text(message)}`);
        const made = reply(texts.at(-1) ?? "", number);
        prompts.push(`${name}: ${texts.join(" | ")}`);
        if (made.error) throw made.error;
        const usage = { input: 10, output: prompts.length === 1 ? firstOutput : 5 };
        return { message: made.message, finishReason: made.finishReason, usage };
      },
    };
  };
  const billing = agent({
    name: "billing",
    model: modelOf("billing", (_, number) => answerAsBilling(number)),
    handoffs: [handoff("desk")],
  });
  const desk = agent({
    name: "desk",
    model: modelOf("desk", (last) => {
      if (last.includes("The budget is used up")) return say("All I know.");
      return last.includes("hands the conversation over")
        ? say("The desk again.")
        : call("handoff_to_billing", { message: "an invoice" });
    }),
    handoffs: [handoff(billing, terms)],
    ...(maxHandoffs !== undefined && { maxHandoffs }),
  });
  return { desk, prompts };
}

function runOnDesk<T>(
  harness: SuiteHarness,
  { desk }: Desk,
  act: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  return onRuntime(harness, { agents: [desk], store: memoryStore(), log: () => undefined }, act);
}

/** Agents and parents of the runs of a tree that has ended, in the order in which they started; and its handoffs. */
async function storyOf(run: RunHandle): Promise<readonly string[]> {
  const story: string[] = [];
  for await (const event of run.events()) {
    if (event.type === "run.start")
      story.push(`${event.agent} ${event.parentRunId === run.runId ? "below the root" : "at the root"}`);
    if (event.type === "handoff.made") story.push(`${event.agent} to ${AgentId.type(event.to)}`);
    if (event.type === "run.end" && event.runId !== run.runId) story.push(`${event.agent} ${event.status}`);
  }
  return story;
}

const note = "user: desk hands the conversation over to you: an invoice";

/** Waits until it is released, or the call is stopped. */
function waitForRelease(released: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return Promise.race([released, aborted.promise]);
}

/** Section 10: handoffs. */
export const handoffCases: readonly EngineCase[] = [
  {
    name: "10.7 after a handoff the next agent takes the turn as a separate run, and its answer is the turn's answer",
    async run(harness) {
      const made = createDesk();
      await runOnDesk(harness, made, async (runtime) => {
        const run = await runtime.start(made.desk, "My invoice?");
        const { status, stopReason, output, costMicros } = await run.result();
        assert.deepEqual([status, stopReason, output, costMicros], ["completed", "answer", "Paid.", 30]);
        assert.deepEqual(await storyOf(run), [
          "desk at the root",
          "billing below the root",
          "desk to billing",
          "billing completed",
        ]);
        assert.deepEqual(made.prompts, ["desk: user: My invoice?", `billing: user: My invoice? | ${note}`]);
      });
    },
  },
  {
    name: "10.8 the filter of a handoff selects the next agent's messages, and the selection is recorded",
    async run(harness) {
      let calls = 0;
      const filter: HandoffOptions["filter"] = (messages) => {
        calls += 1;
        return [ChatMessage.user(`${messages.length} messages, choice ${calls}`)];
      };
      const made = createDesk({ terms: { filter } });
      await runOnDesk(harness, made, async (runtime) => {
        assert.equal((await (await runtime.start(made.desk, "My invoice?")).result()).output, "Paid.");
      });
      assert.deepEqual([calls, made.prompts[1]], [1, `billing: user: 1 messages, choice 1 | ${note}`]);
    },
  },
  {
    name: "10.9 an agent that took over and fails ends the turn, and does not keep the conversation",
    async run(harness) {
      const broken = new ModelError({ kind: "format", message: "broken" });
      const made = createDesk({
        answerAsBilling: (number) => (number === 1 ? { ...say(""), error: broken } : say("Paid.")),
      });
      await runOnDesk(harness, made, async (runtime) => {
        const talk = await runtime.sessions.create(made.desk);
        const { status, error } = await talk.invoke("My invoice?");
        assert.deepEqual([status, error?.message], ["failed", "billing did not answer: broken"]);
        assert.equal(made.prompts.length, 2);
        assert.equal((await talk.invoke("Again?")).output, "Paid.");
        assert.equal(made.prompts.filter((prompt) => prompt.startsWith("desk")).length, 2);
      });
    },
  },
  {
    name: "10.10 a tree without money lands within its cap, at any point of a handoff",
    async run(harness) {
      for (const cap of [20, 60, 400, 1_500, 20_000]) {
        const made = createDesk();
        const { status, output, costMicros, error } = await runOnDesk(harness, made, async (runtime) => {
          const budget = { maxCostUsd: cap / 1_000_000 };
          return (await runtime.start(made.desk, "My invoice?", { budget })).result();
        });
        const why = `${cap}: ${status} ${JSON.stringify(output)} ${error?.message}`;
        assert.ok(costMicros <= cap && costMicros === 15 * made.prompts.length, why);
        assert.equal(status === "failed", output === null, why);
        if (cap === 20_000) assert.equal(status, "completed", why);
      }
    },
  },
  {
    name: "10.10 a tree without money for the next agent's first call lands with a last call of the first agent",
    async run(harness) {
      const made = createDesk({ firstOutput: 4_400 });
      await runOnDesk(harness, made, async (runtime) => {
        const run = await runtime.start(made.desk, "My invoice?", { budget: { maxCostUsd: 0.005 } });
        const { status, stopReason, output } = await run.result();
        assert.deepEqual([status, stopReason, output], ["landed", "budget.cost", "All I know."]);
        assert.ok((await storyOf(run)).includes("billing failed"));
      });
    },
  },
  {
    name: "10.11 a cancel after a handoff ends both runs",
    async run(harness) {
      const held = Promise.withResolvers<void>();
      let begun = 0;
      const made = createDesk({
        beforeBilling: (signal) => {
          begun += 1;
          return waitForRelease(held.promise, signal);
        },
      });
      await runOnDesk(harness, made, async (runtime) => {
        const run = await runtime.start(made.desk, "My invoice?");
        await eventually("the call of billing is in flight", () => begun > 0);
        await run.cancel("enough");
        assert.equal((await run.result()).status, "cancelled");
        assert.ok((await storyOf(run)).includes("billing cancelled"));
      });
    },
  },
  {
    name: "10.12 the next turn begins with the agent that has the conversation, which may give it back",
    async run(harness) {
      const made = createDesk({
        answerAsBilling: (number) =>
          number < 3 ? say(`Paid ${number}.`) : call("handoff_to_desk", { message: "done" }),
      });
      await runOnDesk(harness, made, async (runtime) => {
        const talk = await runtime.sessions.create(made.desk);
        const answers: unknown[] = [];
        for (const text of ["One?", "Two?", "Three?", "Four?"])
          answers.push((await talk.invoke(text)).output);
        assert.deepEqual(answers.slice(0, 3), ["Paid 1.", "Paid 2.", "The desk again."]);
        assert.deepEqual(
          made.prompts.map((prompt) => prompt.split(":")[0]),
          ["desk", "billing", "billing", "billing", "desk", "desk", "billing", "desk"],
        );
        assert.equal(made.prompts[2], "billing: user: One? | assistant: Paid 1. | user: Two?");
      });
    },
  },
  {
    name: "10.13 a turn with too many handoffs lands with its best answer",
    async run(harness) {
      const made = createDesk({
        answerAsBilling: () => call("handoff_to_desk", { message: "a debt" }),
        maxHandoffs: 1,
      });
      await runOnDesk(harness, made, async (runtime) => {
        const { status, stopReason, output } = await (await runtime.start(made.desk, "My invoice?")).result();
        assert.deepEqual([status, stopReason, output], ["landed", "exhausted", "a debt"]);
      });
    },
  },
];
