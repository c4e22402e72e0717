import assert from "node:assert/strict";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";
import { ask, greedyModel, prompt } from "./spender.ts";

/** Section 3.10: calls that wait for a top-up. */
export const topUpWaitCases: readonly EngineCase[] = [
  {
    name: "3.10 a call that waits for calls in flight waits for a top-up once they have left no room, and says so",
    async run(harness) {
      await inSpawnHarness(harness, { budget: { maxTokens: 8_000, onLimit: "wait" } }, async (spawner) => {
        const first = await spawner.spawn("a");
        const call = await spawner.call("a");
        const second = await spawner.spawn("b");
        await waitForEvent(spawner.root, "budget.waiting", ({ runId }) => runId === second.runId);
        call.answer("A", { input: 0, output: 7_900 });
        assert.deepEqual((await first.result()).output, ["A"]);
        const needsTopUp = await waitForEvent(
          spawner.root,
          "budget.waiting",
          ({ runId, inFlight }) => runId === second.runId && inFlight === 0,
        );
        assert.deepEqual([needsTopUp.dimension, needsTopUp.used, needsTopUp.reserved], ["tokens", 7_900, 0]);
        await spawner.root.topUp({ maxTokens: 8_000 });
        (await spawner.call("b")).answer("B");
        assert.deepEqual((await second.result()).output, ["B"]);
        // One event when it began to wait, one when it needed more money.
        const waited = only(await spawner.close(), "budget.waiting");
        assert.deepEqual(
          waited.map(({ inFlight }) => inFlight),
          [1, 0],
        );
      });
    },
  },
  {
    name: '3.10 with onLimit "wait" a run waits for a top-up instead of being stopped',
    async run(harness) {
      const model = greedyModel();
      const agent = agentOf(
        "agent",
        async (ctx) => {
          await ctx.llm(prompt, ask(100));
          await ctx.llm(prompt, ask(100));
          return "done";
        },
        { model, budget: { maxTokens: 150, onLimit: "wait" } },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        await waitForEvent(run, "budget.waiting");
        await reaches(run, "waiting");
        assert.equal(model.bill.length, 1);
        await run.topUp({ maxTokens: 100 });
        assert.equal((await run.result()).output, "done");
      });
    },
  },
];
