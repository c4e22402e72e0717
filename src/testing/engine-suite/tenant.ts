import assert from "node:assert/strict";
import type { ContentBlock } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { agentOf, eventually, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { historyOf, only, reaches } from "./history.ts";
import { ask, greedyModel, micros, prompt, spender, tokenPrice, total } from "./spender.ts";

/** Creates a new tenant: engines may remember those of other cases. */
const freshTenant = (): string => `tenant-${crypto.randomUUID()}`;

/** A part of a prompt without a known token count. */
const film: ContentBlock = { type: "file", mediaType: "video/x-unknown", source: { base64: "AAAA" } };

/** A fresh tenant with a budget for ever. */
async function createLimitedTenant(
  runtime: Runtime,
  limits: { readonly maxTokens?: number; readonly maxCostUsd?: number },
): Promise<string> {
  const tenant = freshTenant();
  await runtime.tenants.setBudget({ tenant }, { ...limits, per: "ever" });
  return tenant;
}

/** Lets so many trees rest after a call. The next one can use all that they have not spent. */
export async function restTrees(harness: SuiteHarness, count: number): Promise<void> {
  const model = greedyModel({ reports: () => ({ input: 10, output: 5 }) });
  const idle = agentOf(
    "idle",
    async (ctx) => {
      await ctx.llm(prompt, ask(20));
      await ctx.waitFor("go");
    },
    { model },
  );
  const maxTokens = count * 100;
  const whole = spender(model, [ask(maxTokens - count * 15)], { name: "whole" });
  await onRuntime(harness, { agents: [idle, whole] }, async (runtime) => {
    const tenant = await createLimitedTenant(runtime, { maxTokens });
    const runs: RunHandle[] = [];
    for (let tree = 0; tree < count; tree += 1) {
      const run = await runtime.start(idle, "go", { tenant });
      await reaches(run, "waiting");
      runs.push(run);
    }
    const { spent, lent } = (await runtime.tenants.budget({ tenant })) ?? {};
    assert.deepEqual([spent?.tokens, lent?.tokens], [count * 15, 0]);
    const { stopReason } = await (await runtime.start(whole, "go", { tenant })).result();
    assert.equal(stopReason, "answer");
    await Promise.all(runs.map((run) => run.cancel()));
  });
}

/** Section 3.3: the spend limits of a tenant and its users over all their trees. */
export const tenantCases: readonly EngineCase[] = [
  {
    name: "3.3 a tenant's budget limits its trees together, and no other tenant's",
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
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const tenant = await createLimitedTenant(runtime, { maxTokens: 300 });
        const runs = await Promise.all(
          [tenant, tenant, freshTenant()].map((each) => runtime.start(agent, "go", { tenant: each })),
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
      });
    },
  },
  {
    name: "3.3 money that a tree borrowed from its tenant and did not use is available to the next tree",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice, reports: () => ({ input: 10, output: 5 }) });
      const small = spender(model, [ask(100)], { name: "small" });
      const exact = spender(model, [ask(85)], { name: "exact" });
      const over = spender(model, [ask(86)], { name: "over" });
      await onRuntime(harness, { agents: [small, exact, over] }, async (runtime) => {
        const tenant = await createLimitedTenant(runtime, { maxCostUsd: micros(100) });
        const stops: string[] = [];
        for (const agent of [small, over, exact]) {
          stops.push((await (await runtime.start(agent, "go", { tenant })).result()).stopReason);
        }
        assert.deepEqual(stops, ["answer", "budget.cost", "answer"]);
      });
    },
  },
  {
    name: "3.3 idle trees hold nothing of their tenant's budget",
    run: (harness) => restTrees(harness, 20),
  },
  {
    name: "3.3 a tree that gets too little makes other trees return unused quota",
    async run(harness) {
      const model = greedyModel({ reports: () => ({ input: 10, output: 5 }) });
      const free = Promise.withResolvers<null>();
      let steps = 0;
      const busy = agentOf(
        "busy",
        async (ctx) => {
          await ctx.llm(prompt, ask(200));
          // The tree learns the call's usage. The run works, so it does not wait.
          await ctx.emit("called");
          await ctx.step("work", () => {
            steps += 1;
            return free.promise;
          });
        },
        { model },
      );
      const whole = spender(model, [ask(300)], { name: "whole" });
      await onRuntime(harness, { agents: [busy, whole] }, async (runtime) => {
        const tenant = await createLimitedTenant(runtime, { maxTokens: 330 });
        const runs = [await runtime.start(busy, "go", { tenant })];
        await eventually("the first works", () => steps > 0);
        const { stopReason } = await (await runtime.start(whole, "go", { tenant })).result();
        free.resolve(null);
        await Promise.all(runs.map((run) => run.result()));
        assert.equal(stopReason, "answer");
      });
    },
  },
  {
    name: "3.3 a user's budget limits that user's trees, within the tenant's",
    async run(harness) {
      const model = greedyModel();
      const agent = spender(model, [ask(100)]);
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const tenant = await createLimitedTenant(runtime, { maxTokens: 250 });
        await runtime.tenants.setBudget({ tenant, user: "ann" }, { maxTokens: 150, per: "day" });
        const stops: string[] = [];
        for (const user of ["ann", "ann", "bob", "bob"]) {
          stops.push((await (await runtime.start(agent, "go", { tenant, user })).result()).stopReason);
        }
        assert.deepEqual(stops, ["answer", "budget.tokens", "answer", "budget.tokens"]);
        const ann = await runtime.tenants.budget({ tenant, user: "ann" });
        assert.deepEqual([ann?.spent.tokens, ann?.lent.tokens], [100, 0]);
        await runtime.tenants.setBudget({ tenant }, null);
        const { stopReason } = await (await runtime.start(agent, "go", { tenant, user: "bob" })).result();
        assert.equal(stopReason, "answer");
      });
    },
  },
  {
    name: "3.3 a prompt of unknown size is refused under a tenant's budget, and only there",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice, reports: () => ({ input: 10, output: 5 }) });
      const agent = agentOf(
        "viewer",
        async (ctx) => {
          await ctx.llm([{ role: "user", content: [film] }], { maxOutputTokens: 5 });
        },
        { model },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        for (const limits of [{ maxTokens: 1_000_000 }, { maxCostUsd: 1_000 }]) {
          const tenant = await createLimitedTenant(runtime, limits);
          const refused = await (await runtime.start(agent, "go", { tenant })).result();
          assert.deepEqual([refused.error?.["reason"], model.bill.length], ["unbounded", 0]);
        }
        const free = await (await runtime.start(agent, "go", { tenant: freshTenant() })).result();
        assert.equal(free.stopReason, "answer");
      });
    },
  },
  {
    name: "3.3 the real cost of a call in doubt reaches the tenant once after its tree has ended",
    async run(harness) {
      const model = greedyModel({ reports: () => (model.bill.length > 1 ? { input: 10, output: 5 } : null) });
      const lost = spender(model, [ask(200)], { name: "lost" });
      const next = spender(model, [ask(285)], { name: "next" });
      await onRuntime(harness, { agents: [lost, next] }, async (runtime) => {
        const tenant = await createLimitedTenant(runtime, { maxTokens: 300 });
        const run = await runtime.start(lost, "go", { tenant });
        await run.result();
        const [settled] = only(await historyOf(run), "budget.settled");
        assert.ok(settled?.attempt);
        const spent = async (): Promise<number | undefined> =>
          (await runtime.tenants.budget({ tenant }))?.spent.tokens;
        assert.equal(await spent(), 200);
        assert.equal(await run.reconcile(settled.attempt, { input: 10, output: 5 }), true);
        assert.equal(await run.reconcile(settled.attempt, { input: 0, output: 0 }), false);
        await eventually("the tenant knows", async () => (await spent()) === 15);
        const { stopReason } = await (await runtime.start(next, "go", { tenant })).result();
        assert.equal(stopReason, "answer");
      });
    },
  },
];
