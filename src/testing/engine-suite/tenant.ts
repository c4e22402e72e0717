import assert from "node:assert/strict";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { reaches } from "./history.ts";
import { ask, greedyModel, micros, prompt, spender, tokenPrice, total } from "./spender.ts";

/** A tenant nobody else has: engines may remember those of other cases. */
const freshTenant = (): string => `tenant-${crypto.randomUUID()}`;

/** Section 3.3: what a tenant may spend in all its trees. */
export const tenantCases: readonly EngineCase[] = [
  {
    name: "3.3 a tenant's budget limits its trees together, and nobody else's",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const agent = agentOf(
        "caller",
        async (ctx) => {
          await ctx.llm(prompt, ask(100));
          await ctx.waitFor("go");
          await ctx.llm(prompt, ask(100));
        },
        { model },
      );
      await onRuntime(
        harness,
        { agents: [agent], tenantBudget: () => ({ maxTokens: 300 }) },
        async (runtime) => {
          const [tenant, other] = [freshTenant(), freshTenant()];
          const runs = await Promise.all(
            [tenant, tenant, other].map((each) => runtime.start(agent, "go", { tenant: each })),
          );
          await Promise.all(runs.map((run) => reaches(run, "waiting")));
          await Promise.all(runs.map((run) => run.signal("go")));
          const [first, second, third] = await Promise.all(runs.map((run) => run.result()));
          assert.deepEqual(
            new Set([first?.stopReason, second?.stopReason]),
            new Set(["answer", "budget.tokens"]),
          );
          assert.equal(third?.stopReason, "answer");
          assert.equal(total(model.bill), 500);
        },
      );
    },
  },
  {
    name: "3.3 a tenant's money that a tree borrowed and did not use is there for the next tree",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice, reports: () => ({ input: 10, output: 5 }) });
      const small = spender(model, [ask(100)], { name: "small" });
      const exact = spender(model, [ask(85)], { name: "exact" });
      const over = spender(model, [ask(86)], { name: "over" });
      const agents = [small, exact, over];
      await onRuntime(
        harness,
        { agents, tenantBudget: () => ({ maxCostUsd: micros(100) }) },
        async (runtime) => {
          const tenant = freshTenant();
          const stops: string[] = [];
          for (const agent of [small, over, exact]) {
            stops.push((await (await runtime.start(agent, "go", { tenant })).result()).stopReason);
          }
          assert.deepEqual(stops, ["answer", "budget.cost", "answer"]);
        },
      );
    },
  },
];
