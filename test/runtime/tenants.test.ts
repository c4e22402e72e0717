import { delegateEngine, TooLargeError, type Engine } from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { agentOf, eventually, type SuiteHarness } from "../../src/testing/engine-suite/harness.ts";
import { ask, greedyModel, prompt, spender } from "../../src/testing/engine-suite/spender.ts";
import { restTrees } from "../../src/testing/engine-suite/tenant.ts";

test("3.3 100 idle trees of a tenant hold nothing: the next one can use the whole remaining budget", async () => {
  const harness: SuiteHarness = {
    runtime: async (options) => new Runtime({ ...options, engine: local() }),
  };
  await expect(restTrees(harness, 100)).resolves.toBeUndefined();
});

const throwTooLarge = (): never => {
  throw new TooLargeError({ what: "a budget", bytes: 2, limit: 1 });
};

/** An engine on which a tenant's budgets cannot be read. */
const engineWithoutBudgets = (inner: Engine): Engine =>
  delegateEngine(inner, {
    define: (program) => {
      const objects = program.objects.map((object) =>
        object.type === "tenant"
          ? { ...object, methods: { ...object.methods, requestQuota: throwTooLarge } }
          : object,
      );
      inner.define({ ...program, objects });
    },
  });

test("3.3 where a tenant's budgets cannot be read, no model call begins", async () => {
  const model = greedyModel();
  const agent = spender(model, [ask(100)]);
  await using runtime = new Runtime({ agents: [agent], engine: engineWithoutBudgets(local()) });
  expect((await (await runtime.start(agent, "go", { tenant: "acme" })).result()).status).toBe("failed");
  expect(model.bill).toEqual([]);
  expect((await (await runtime.start(agent, "go")).result()).status).toBe("completed");
});

test("3.3 a tree of a tenant without a budget asks for it once, not for every call", async () => {
  let requests = 0;
  const counting = (inner: Engine): Engine =>
    delegateEngine(inner, {
      define: (program) => {
        const objects = program.objects.map((object) => {
          const { requestQuota } = object.methods;
          if (object.type !== "tenant" || !requestQuota) return object;
          const counted: typeof requestQuota = (...call) => {
            requests += 1;
            return requestQuota(...call);
          };
          return { ...object, methods: { ...object.methods, requestQuota: counted } };
        });
        inner.define({ ...program, objects });
      },
    });
  const model = greedyModel();
  const agent = agentOf(
    "long",
    async (ctx) => {
      for (let call = 0; call < 5; call++) {
        await ctx.llm(prompt, ask(100));
        await ctx.sleepUntil((await ctx.now()) + 1);
      }
    },
    { model },
  );
  await using runtime = new Runtime({ agents: [agent], engine: counting(local()) });
  await (await runtime.start(agent, "go", { tenant: "acme" })).result();
  expect([model.bill.length, requests]).toEqual([5, 1]);
});

test("3.3 a budget that is set reaches a tree that is open, and its next call, within a minute", async () => {
  const clock = manualClock();
  const model = greedyModel();
  let goOn = Promise.withResolvers<null>();
  let steps = 0;
  const agent = agentOf(
    "long",
    async (ctx) => {
      for (const name of ["one", "two"]) {
        await ctx.llm(prompt, ask(100));
        await ctx.step(name, () => {
          steps += 1;
          return goOn.promise;
        });
      }
      await ctx.llm(prompt, ask(100));
    },
    { model },
  );
  await using runtime = new Runtime({ agents: [agent], engine: local({ clock }), clock });
  const run = await runtime.start(agent, "go", { tenant: "acme" });
  const next = async (count: number, ms: number): Promise<void> => {
    await eventually(`step ${count}`, () => steps === count);
    await clock.advance(ms);
    const { resolve } = goOn;
    goOn = Promise.withResolvers();
    resolve(null);
  };
  await eventually("the first step", () => steps === 1);
  await runtime.tenants.setBudget({ tenant: "acme" }, { maxTokens: 50, per: "ever" });
  await next(1, 59_000);
  await next(2, 1_000);
  expect(await run.result()).toMatchObject({ stopReason: "budget.tokens" });
  expect(model.bill).toHaveLength(2);
});

test("9.3 the tenant's audit, and no other, names the actor that set or removed a budget", async () => {
  await using runtime = new Runtime({ agents: [], engine: local(), store: memoryStore() });
  const owner = { tenant: "acme", user: "ann" };
  await runtime.tenants.setBudget(owner, { maxCostUsd: 1.5, per: "month" }, { by: "key-1" });
  await runtime.tenants.setBudget(owner, null);
  await eventually("both are noted", async () => (await runtime.audit.read({ tenant: "acme" })).length === 2);
  const limits = { maxTokens: null, maxCostMicros: 1_500_000, per: "month" };
  expect(await runtime.audit.read({ tenant: "acme" })).toMatchObject([
    { kind: "budget", data: { decision: "set", user: "ann", by: "key-1", ...limits } },
    { kind: "budget", data: { decision: "removed", user: "ann", by: null } },
  ]);
  expect(await runtime.audit.verify({ tenant: "acme" })).toMatchObject({ ok: true, length: 2 });
  expect(await runtime.audit.read()).toEqual([]);
});

test.each([
  [{ per: "ever" }, "maxCostUsd or maxTokens"],
  [{ per: "week", maxTokens: 1 }, "one of day, month, ever, got week"],
  [{ per: "day", maxTokens: -1 }, "maxTokens must be an integer >= 0, got -1"],
  [{ per: "day", maxTokens: 1.5 }, "maxTokens must be an integer >= 0, got 1.5"],
  [{ per: "day", maxCostUsd: NaN }, "maxCostUsd must be a number from 0 to 9007199254, got NaN"],
])("a budget like %j is refused", async (budget, why) => {
  await using runtime = new Runtime({ agents: [], engine: local() });
  // @ts-expect-error: no TypeScript program can give some of these.
  await expect(runtime.tenants.setBudget({ tenant: "acme" }, budget)).rejects.toThrow(why);
});
