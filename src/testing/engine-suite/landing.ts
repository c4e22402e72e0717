import assert from "node:assert/strict";
import { BudgetExhaustedError, type Agent, type ExecutionBudget, type Json, type LlmOptions } from "#kernel";
import { agentOf, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { ask, greedyModel, micros, prompt, tokenPrice } from "./spender.ts";

/** An agent that tries each of these calls and returns `made`, or the limit that stopped it. */
function agentThatTries(
  name: string,
  calls: readonly LlmOptions[],
  rest: Omit<Agent, "id" | "run"> = {},
): Agent {
  return agentOf(
    name,
    async (ctx) => {
      const outcomes: Json[] = [];
      for (const call of calls) {
        const outcome = await ctx.llm(prompt, call).then(
          () => "made",
          (error: unknown) => (error instanceof BudgetExhaustedError ? error.dimension : "another error"),
        );
        outcomes.push(outcome);
      }
      return outcomes;
    },
    { model: greedyModel({ price: tokenPrice }), ...rest },
  );
}

async function outputOf(
  harness: SuiteHarness,
  agents: readonly [Agent, ...Agent[]],
  budget: ExecutionBudget = {},
): Promise<Json> {
  return onRuntime(harness, { agents }, async (runtime) => {
    const { output } = await (await runtime.start(agents[0], "go", { budget })).result();
    return output;
  });
}

const landing = { landing: true } as const;

/** Section 3.8: the share reserved for landing, as far as a single call shows it. */
export const landingCases: readonly EngineCase[] = [
  {
    name: "3.8 a tenth of tokens and of cost, rounded up, is kept for landing",
    async run(harness) {
      // 90 of the 101 tokens are for work, 11 for landing.
      const calls = [ask(91), ask(50), ask(41), ask(51, landing)];
      for (const [budget, dimension] of [
        [{ maxTokens: 101 }, "tokens"],
        [{ maxCostUsd: micros(101) }, "cost"],
      ] as const) {
        const outcomes = await outputOf(harness, [agentThatTries("tight", calls, { budget })]);
        assert.deepEqual(outcomes, [dimension, "made", dimension, "made"]);
      }
    },
  },
  {
    name: "3.8 the last turn is reserved for landing; maxTurns 1 keeps it",
    async run(harness) {
      const calls = [ask(50), ask(50), ask(50), ask(50, landing), ask(50, landing)];
      const three = agentThatTries("three", calls, { budget: { maxTurns: 3 } });
      assert.deepEqual(await outputOf(harness, [three]), ["made", "made", "turns", "made", "turns"]);
      const one = agentThatTries("one", [ask(50), ask(50, landing)], { budget: { maxTurns: 1 } });
      assert.deepEqual(await outputOf(harness, [one]), ["made", "turns"]);
    },
  },
  {
    name: "3.8 the tree's slice belongs to the root: a child without its own cap has no slice",
    async run(harness) {
      const writer = agentThatTries("writer", [ask(109, landing), ask(100, landing)]);
      const lead = agentOf(
        "lead",
        async (ctx) => {
          const { output } = await ctx.join(await ctx.spawn(writer, "work"));
          await ctx.llm(prompt, ask(20, landing));
          return output;
        },
        { model: greedyModel({ price: tokenPrice }) },
      );
      assert.deepEqual(await outputOf(harness, [lead, writer], { maxTokens: 120 }), ["tokens", "made"]);
    },
  },
  {
    name: "3.8 a slice belongs to the run that owns the capped account, and never to its child",
    async run(harness) {
      const owner = agentThatTries("owner", [ask(100), ask(100, landing)], { budget: { maxTokens: 100 } });
      const writer = agentThatTries("writer", [ask(100, landing), ask(90, landing)], {
        budget: { maxTokens: 1_000 },
      });
      const lead = agentOf("lead", async (ctx) => [
        (await ctx.join(await ctx.spawn(owner, "work"))).output,
        (await ctx.join(await ctx.spawn(capped, "work"))).output,
      ]);
      const capped = agentOf(
        "capped",
        async (ctx) => (await ctx.join(await ctx.spawn(writer, "work"))).output,
        {
          budget: { maxTokens: 100 },
        },
      );
      assert.deepEqual(await outputOf(harness, [lead, owner, capped, writer]), [
        ["tokens", "made"],
        ["tokens", "made"],
      ]);
    },
  },
];
