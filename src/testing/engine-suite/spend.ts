import assert from "node:assert/strict";
import type { Agent, ExecutionBudget, RunResult } from "#kernel";
import { agentOf, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";
import { ask, greedyModel, micros, prompt, spender, tokenPrice, total } from "./spender.ts";

/** Returns the result of one tree. */
async function resultOf(
  harness: SuiteHarness,
  agents: readonly [Agent, ...Agent[]],
  budget: ExecutionBudget = {},
): Promise<RunResult> {
  return onRuntime(harness, { agents }, async (runtime) =>
    (await runtime.start(agents[0], "go", { budget })).result(),
  );
}

/** Returns how a budget stopped a run: the reason and the error. */
const stopOf = ({ status, stopReason, error }: RunResult): readonly unknown[] => [
  status,
  stopReason,
  error?.["dimension"],
  error?.["limit"],
  error?.["used"],
];

/** Sections 3.1, 3.2, 3.8 and 3.9: the limits of one run. */
export const spendCases: readonly EngineCase[] = [
  {
    name: "3.1 an absent limit is unlimited, and 0 allows nothing",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const free = await resultOf(harness, [spender(model, [ask(5_000), ask(5_000)])]);
      assert.deepEqual(
        [free.status, free.usage.input + free.usage.output, free.costMicros],
        ["completed", 10_000, 10_000],
      );
      const asks = [ask(100, { landing: true })];
      for (const [limit, dimension] of [
        ["maxTokens", "tokens"],
        ["maxCostUsd", "cost"],
        ["maxTurns", "turns"],
      ] as const) {
        const stopped = await resultOf(harness, [spender(model, asks, { budget: { [limit]: 0 } })]);
        assert.deepEqual(stopOf(stopped), ["failed", `budget.${dimension}`, dimension, 0, 0]);
      }
      assert.equal(model.bill.length, 2);
    },
  },
  {
    name: "3.2 tokens exactly at the cap are allowed, one over is not",
    async run(harness) {
      const model = greedyModel();
      const calls = [ask(100, { landing: true }), ask(50, { landing: true })];
      const at = await resultOf(harness, [spender(model, calls, { budget: { maxTokens: 150 } })]);
      assert.deepEqual([at.status, total(model.bill)], ["completed", 150]);
      const over = await resultOf(harness, [spender(model, calls, { budget: { maxTokens: 149 } })]);
      assert.deepEqual(stopOf(over), ["failed", "budget.tokens", "tokens", 149, 100]);
    },
  },
  {
    name: "3.2 a cost exactly at the cap is allowed, one over is not",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const calls = [ask(100, { landing: true }), ask(50, { landing: true })];
      const at = await resultOf(harness, [spender(model, calls, { budget: { maxCostUsd: micros(150) } })]);
      assert.deepEqual([at.status, at.costMicros], ["completed", 150]);
      const over = await resultOf(harness, [spender(model, calls, { budget: { maxCostUsd: micros(149) } })]);
      assert.deepEqual(stopOf(over), ["failed", "budget.cost", "cost", 149, 100]);
    },
  },
  {
    name: "3.2 turns exactly at the cap are allowed, one over is not",
    async run(harness) {
      const model = greedyModel();
      const calls = [ask(50), ask(50), ask(50, { landing: true })];
      const at = await resultOf(harness, [spender(model, calls, { budget: { maxTurns: 3 } })]);
      assert.equal(at.status, "completed");
      const over = await resultOf(harness, [spender(model, calls, { budget: { maxTurns: 2 } })]);
      assert.deepEqual(stopOf(over), ["failed", "budget.turns", "turns", 2, 1]);
    },
  },
  {
    name: "3.2 limits are checked in the order tokens, cost, turns",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const none = { maxTokens: 0, maxCostUsd: 0, maxTurns: 0 };
      const stopReasons: string[] = [];
      for (const budget of [none, { maxCostUsd: 0, maxTurns: 0 }, { maxTurns: 0 }]) {
        stopReasons.push((await resultOf(harness, [spender(model, [ask(50)], { budget })])).stopReason);
      }
      assert.deepEqual(stopReasons, ["budget.tokens", "budget.cost", "budget.turns"]);
    },
  },
  {
    name: "3.5 a model is never allowed more output than the budget can pay for",
    async run(harness) {
      const model = greedyModel();
      const calls = [{ maxOutputTokens: 5_000, landing: true }];
      const { status } = await resultOf(harness, [spender(model, calls, { budget: { maxTokens: 100 } })]);
      assert.deepEqual([status, total(model.bill)], ["completed", 100]);
    },
  },
  {
    name: "3.6 a model without a known price is refused under a cost budget, unless the caller allows it",
    async run(harness) {
      const model = greedyModel();
      const budget = { maxCostUsd: 1 };
      const refused = await resultOf(harness, [spender(model, [ask(50)], { budget })]);
      assert.deepEqual([refused.stopReason, refused.error?.["reason"]], ["budget.cost", "unpriced"]);
      const below = agentOf(
        "lead",
        async (ctx) => (await ctx.join(await ctx.spawn(plain, "work"))).stopReason,
      );
      const plain = spender(model, [ask(50)]);
      assert.equal((await resultOf(harness, [below, plain], budget)).output, "budget.cost");
      assert.equal(model.bill.length, 0);
      const allowed = spender(model, [ask(50, { unpriced: "allow" })], { budget });
      const { status, costMicros } = await resultOf(harness, [allowed]);
      assert.deepEqual([status, costMicros, model.bill.length], ["completed", 0, 1]);
      assert.equal((await resultOf(harness, [plain])).status, "completed");
    },
  },
  {
    name: "3.8 a budget stop ends the run failed, names its dimension, and is not restarted",
    async run(harness) {
      const model = greedyModel();
      const agent = spender(model, [ask(100), ask(100)], { budget: { maxTokens: 150 } });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        assert.deepEqual(stopOf(await run.result()), ["failed", "budget.tokens", "tokens", 150, 100]);
        const events = await historyOf(run);
        const [denied, ...more] = only(events, "budget.denied");
        assert.deepEqual([denied?.dimension, denied?.limit, denied?.used], ["tokens", 150, 100]);
        assert.deepEqual([more.length, model.bill.length], [0, 1]);
      });
    },
  },
  {
    name: "3.8 budget.warning is emitted once per dimension, at 80 %",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const calls = Array.from({ length: 9 }, () => ask(100));
      const budget = { maxTokens: 1_000, maxCostUsd: micros(1_000), maxTurns: 10 };
      const agent = spender(model, calls, { budget });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        assert.equal((await run.result()).status, "completed");
        const events = await historyOf(run);
        const warnings = only(events, "budget.warning");
        assert.deepEqual(
          warnings.map(({ dimension, limit, used }) => [dimension, limit, used]),
          [
            ["tokens", 1_000, 800],
            ["cost", 1_000, 800],
            ["turns", 10, 8],
          ],
        );
        const ends = only(events, "model.end").filter(({ seq }) => seq < (warnings[0]?.seq ?? 0));
        assert.equal(ends.length, 7);
      });
    },
  },
  {
    name: "3.9 topUp adds to a run's budget",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const budget = { maxTokens: 150, maxCostUsd: micros(150), maxTurns: 1 };
      const agent = agentOf(
        "patient",
        async (ctx) => {
          await ctx.llm(prompt, ask(100));
          await ctx.waitFor("more");
          await ctx.llm(prompt, ask(100));
        },
        { model, budget },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go", { budget: { maxTokens: 150 } });
        await waitForEvent(run, "model.start");
        await run.topUp({ maxTokens: 100, maxCostUsd: micros(100), maxTurns: 2 });
        await run.signal("more");
        assert.equal((await run.result()).status, "completed");
        const [topUp] = only(await historyOf(run), "budget.topped-up");
        assert.deepEqual([topUp?.tokens, topUp?.costMicros, topUp?.turns], [100, 100, 2]);
      });
    },
  },
  {
    name: "3.9 a topUp repeated under the same id adds once",
    async run(harness) {
      const agent = agentOf("agent", (ctx) => ctx.waitFor("go"), { budget: { maxTokens: 100 } });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        for (let asked = 0; asked < 3; asked += 1) await run.topUp({ maxTokens: 50 }, { id: "more" });
        await run.topUp({ maxTokens: 50 }, { id: "yet more" });
        assert.equal((await run.ledger()).run?.maxTokens, 200);
        await run.signal("go");
        const topUps = only(await historyOf(run), "budget.topped-up");
        assert.deepEqual(
          topUps.map(({ tokens }) => tokens),
          [50, 50],
        );
      });
    },
  },
  {
    name: "3.9 topUp on an ended run is a RunEndedError",
    async run(harness) {
      const agent = agentOf("short", async () => "done");
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        await run.result();
        await assert.rejects(run.topUp({ maxTokens: 1 }), { code: "run-ended", run: run.runId });
      });
    },
  },
];
