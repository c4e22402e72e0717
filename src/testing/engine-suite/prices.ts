import assert from "node:assert/strict";
import {
  BudgetExhaustedError,
  ChatMessage,
  Json,
  type Agent,
  type LlmOptions,
  type Model,
  type RunContext,
  type Usage,
} from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";
import { ask, greedyModel, micros, prompt, spender, tokenPrice, total, type GreedyModel } from "./spender.ts";

/** Ten micro-dollars for each token. */
const dear = { input: 10_000_000, output: 10_000_000 };

/** A model of one id, at a provider. */
const modelAt = (provider: string, model: Model): Model => ({ ...model, id: "shared", provider });

/** Section 3.6: the reservation follows from the price of the called model and from the request. */
export const priceCases: readonly EngineCase[] = [
  {
    name: "3.6 a model of one id at two providers is booked at the price of each",
    async run(harness) {
      const hosted = greedyModel({ price: dear });
      const proxied = greedyModel({ price: tokenPrice });
      const extra = modelAt("proxy", proxied);
      const lead = spender(modelAt("hosted", hosted), [ask(50), ask(50, { model: extra }), ask(50)], {
        name: "lead",
      });
      const other = spender(extra, [ask(50)], { name: "other" });
      await onRuntime(harness, { agents: [lead, other] }, async (runtime) => {
        const all = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([all.status, all.costMicros], ["completed", 50 * 10 + 50 + 50 * 10]);
        const capped = await (
          await runtime.start(lead, "go", { budget: { maxCostUsd: micros(700) } })
        ).result();
        assert.deepEqual(
          [capped.status, capped.stopReason, capped.costMicros],
          ["failed", "budget.cost", 550],
        );
      });
      assert.deepEqual([total(hosted.bill), total(proxied.bill)], [150, 100]);
    },
  },
  {
    name: "3.6 a provider option of unknown cost is refused under a limit, with the line that allows it",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const call = ask(50, { providerOptions: { acme: { turbo: true } } });
      const refused = spender(model, [call], { name: "refused" });
      const allowed = spender({ ...model, allowOptions: ["acme.turbo"] }, [call], { name: "allowed" });
      await onRuntime(harness, { agents: [refused, allowed] }, async (runtime) => {
        const budget = { maxTokens: 1_000 };
        const { status, error } = await (await runtime.start(refused, "go", { budget })).result();
        assert.deepEqual([status, error?.["reason"], model.bill.length], ["failed", "unbounded", 0]);
        assert.match(String(error?.["remedy"]), /allowOptions: \["acme\.turbo"\]/);
        assert.equal((await (await runtime.start(allowed, "go", { budget })).result()).status, "completed");
        assert.equal((await (await runtime.start(refused, "go")).result()).status, "completed");
      });
      assert.equal(model.bill.length, 2);
    },
  },
  {
    name: "3.6 a prompt size that a provider reported counts in the run's next execution, for the same prompt only",
    async run(harness) {
      const usage: Usage = { input: 100, output: 10 };
      const model = greedyModel({ price: tokenPrice, reports: () => usage });
      const agent = continuingAgent(model);
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go", { budget: { maxTokens: 20_000 } });
        assert.equal((await run.result()).status, "completed");
        const reserved = only(await historyOf(run), "budget.reserved").map(({ tokens }) => tokens);
        const [first = 0, same = 0, another = 0] = reserved;
        assert.equal(reserved.length, 3);
        assert.ok(first > 4_000 && same < 200 && another > 4_000, `reserved ${reserved.join(", ")}`);
      });
    },
  },
  {
    name: "3.6 a call in flight neither sends nor counts messages that are added to it",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice, reports: () => ({ input: 10, output: 5 }) });
      const agent = agentOf(
        "adding",
        async (ctx) => {
          const messages = [ChatMessage.user("hello")];
          const asked = ctx.llm(messages, { maxOutputTokens: 20 });
          messages.push(ChatMessage.user("y".repeat(4_000)));
          await asked;
          await ctx.llm(messages, { maxOutputTokens: 20 });
        },
        { model },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go", { budget: { maxTokens: 1_000 } });
        assert.equal((await run.result()).stopReason, "budget.tokens");
        assert.equal(model.bill.length, 1);
      });
    },
  },
  {
    name: "3.7 input tokens that a provider reports beyond a bound are added to every later bound of that model in the tree",
    async run(harness) {
      const model = countingModel(30);
      const plain = greedyModel({ id: "plain", price: tokenPrice });
      const child = agentOf("child", (ctx) => tryCall(ctx, ask(500)), { model });
      const root = agentOf(
        "root",
        async (ctx) => {
          const { output } = await ctx.join(await ctx.spawn(child, "go"));
          // The child has used 530 of 1,000, and 100 are kept for landing.
          const tooMuch = await tryCall(ctx, ask(341));
          const ofOther = await tryCall(ctx, ask(100, { model: plain }));
          const tooMuchToLand = await tryCall(ctx, ask(341, { landing: true }));
          return [
            output ?? null,
            tooMuch,
            ofOther,
            tooMuchToLand,
            await tryCall(ctx, ask(340, { landing: true })),
          ];
        },
        { model },
      );
      await onRuntime(harness, { agents: [root, child] }, async (runtime) => {
        const run = await runtime.start(root, "go", { budget: { maxCostUsd: micros(1_000) } });
        const { output, costMicros } = await run.result();
        assert.deepEqual(output, ["made", "cost", "made", "cost", "made"]);
        assert.equal(costMicros, 1_000);
      });
      assert.equal(total(model.bill) + total(plain.bill), 1_000);
    },
  },
];

/** Asks, goes on in a fresh execution, asks the same, and something else. */
function continuingAgent(model: Model): Agent {
  const call = { maxOutputTokens: 20, minOutputTokens: 20 };
  return agentOf(
    "continuing",
    async (ctx) => {
      const before = Json.as<readonly ChatMessage[] | null>(ctx.state);
      const messages = before ?? [ChatMessage.user("x".repeat(4_000))];
      await ctx.llm(messages, call);
      if (!before) return ctx.continueAs(Json.of(messages));
      await ctx.llm([ChatMessage.user("y".repeat(4_000))], call);
      return "done";
    },
    { model },
  );
}

/** A model that uses its whole grant, and whose provider counts more input than was sent. */
function countingModel(hiddenTokens: number): GreedyModel {
  const model = greedyModel({ id: "counting", price: tokenPrice });
  const bill: Usage[] = [];
  return {
    ...model,
    bill,
    async generate(request, call) {
      const answer = await model.generate(request, call);
      const { input, output } = answer.usage ?? { input: 0, output: 0 };
      const usage = { input: input + hiddenTokens, output };
      bill.push(usage);
      return { ...answer, usage };
    },
  };
}

/** Makes a call. Returns `made`, or the dimension of the limit that refused it. */
const tryCall = (ctx: RunContext, call: LlmOptions): Promise<Json> =>
  ctx.llm(prompt, call).then(
    () => "made",
    (error: unknown) => (error instanceof BudgetExhaustedError ? error.dimension : "another error"),
  );
