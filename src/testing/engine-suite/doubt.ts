import assert from "node:assert/strict";
import type { Usage } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, waitForEvent } from "./history.ts";
import { ask, greedyModel, prompt, spender, tokenPrice } from "./spender.ts";

const nonsense: readonly (Usage | null)[] = [
  null,
  { input: NaN, output: 5 },
  { input: -10, output: 5 },
  { input: 10.5, output: 5 },
  { input: 10, output: 5, cachedInput: 11 },
  { input: 10, output: 1_000_000_000 },
];

/** Section 3.7: unknown usage. */
export const doubtCases: readonly EngineCase[] = [
  {
    name: "3.7 a call with absent, negative, fractional or impossible usage stays booked at its ceiling, in doubt",
    async run(harness) {
      let calls = 0;
      const model = greedyModel({ price: tokenPrice, reports: () => nonsense[calls++] ?? null });
      const agent = spender(
        model,
        nonsense.map(() => ask(100)),
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        const { status, usage, costMicros, inDoubtMicros } = await run.result();
        assert.deepEqual([status, costMicros, inDoubtMicros], ["completed", 600, 600]);
        assert.deepEqual([usage.input, usage.output], [0, 0]);
        const settled = only(await historyOf(run), "budget.settled");
        assert.deepEqual(
          settled.map(({ tokens, inDoubt: isInDoubt }) => [tokens, isInDoubt]),
          nonsense.map(() => [100, true]),
        );
      });
    },
  },
  {
    name: "3.7 usage in doubt counts against the cap, never as a credit",
    async run(harness) {
      const model = greedyModel({ reports: () => null });
      const agent = spender(model, [ask(100), ask(100), ask(100)], { budget: { maxTokens: 250 } });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const { stopReason, error } = await (await runtime.start(agent, "go")).result();
        assert.deepEqual([stopReason, error?.["used"], model.bill.length], ["budget.tokens", 200, 2]);
      });
    },
  },
  {
    name: "3.7 reconcile books the real usage of a call in doubt once, and the freed amount can be spent",
    async run(harness) {
      const model = greedyModel({
        price: tokenPrice,
        reports: () => (model.bill.length > 1 ? { input: 90, output: 10 } : null),
      });
      const agent = agentOf(
        "patient",
        async (ctx) => {
          await ctx.llm(prompt, ask(100));
          await ctx.waitFor("reconciled");
          await ctx.llm(prompt, ask(100));
        },
        { model, budget: { maxTokens: 150 } },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        const { attempt } = await waitForEvent(run, "budget.settled", ({ inDoubt }) => inDoubt);
        assert.ok(attempt);
        assert.equal(await run.reconcile(attempt, { input: -1, output: 0 }), false);
        assert.equal(await run.reconcile(attempt, { input: 10, output: 5 }), true);
        assert.equal(await run.reconcile(attempt, { input: 0, output: 0 }), false);
        await run.signal("reconciled");
        const { status, costMicros, inDoubtMicros, usage } = await run.result();
        assert.deepEqual([status, costMicros, inDoubtMicros], ["completed", 115, 0]);
        assert.deepEqual([usage.input, usage.output], [100, 15]);
      });
    },
  },
  {
    name: "3.7 reconcile also clears a doubt after the tree has ended",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice, reports: () => null });
      const writer = spender(model, [ask(100)]);
      const lead = agentOf("lead", async (ctx) => void (await ctx.join(await ctx.spawn(writer, "work"))));
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const before = await run.result();
        assert.deepEqual([before.costMicros, before.inDoubtMicros], [100, 100]);
        const [settled] = only(await historyOf(run), "budget.settled");
        assert.ok(settled?.attempt);
        assert.equal(await run.reconcile(settled.attempt, { input: 10, output: 5 }), true);
        const { costMicros, inDoubtMicros, usage } = await run.result();
        assert.deepEqual([costMicros, inDoubtMicros, usage.input, usage.output], [15, 0, 10, 5]);
      });
    },
  },
  {
    name: "3.7 a result first read after a doubt was cleared does not contain the doubt",
    async run(harness) {
      const agent = spender(greedyModel({ price: tokenPrice, reports: () => null }), [ask(100)]);
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        const other = runtime.run(run.treeId);
        assert.equal((await other.result()).inDoubtMicros, 100);
        const [settled] = only(await historyOf(other), "budget.settled");
        assert.ok(settled?.attempt);
        assert.equal(await other.reconcile(settled.attempt, { input: 10, output: 5 }), true);
        const { costMicros, inDoubtMicros } = await run.result();
        assert.deepEqual([costMicros, inDoubtMicros], [15, 0]);
      });
    },
  },
];
