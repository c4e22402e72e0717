import assert from "node:assert/strict";
import { ChatMessage, type Agent, type Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";
import { ask, greedyModel, prompt, spender, tokenPrice, total } from "./spender.ts";

/** Creates a parent that spawns these agents in turn and returns how each of them stopped. */
const leadOf = (writers: readonly Agent[], rest: Omit<Agent, "id" | "run"> = {}): Agent =>
  agentOf(
    "lead",
    async (ctx) => {
      const stops: Json[] = [];
      for (const writer of writers) {
        stops.push((await ctx.join(await ctx.spawn(writer, "work"))).stopReason);
      }
      return stops;
    },
    rest,
  );

/** Sections 3.3 to 3.5 and 3.7: the accounts from a run to the root, and their bookings. */
export const accountCases: readonly EngineCase[] = [
  {
    name: "3.3 a run's cap covers its whole subtree: a parent with 100 tokens stops a child that tries to spend 6,000",
    async run(harness) {
      const model = greedyModel();
      const researcher = agentOf("researcher", async (ctx) => void (await ctx.llm(prompt, ask(6_000))), {
        model,
      });
      const reader = agentOf(
        "reader",
        async (ctx) => void (await ctx.llm([ChatMessage.user("x".repeat(6_000))])),
        { model },
      );
      const modest = spender(model, [ask(80)]);
      const lead = leadOf([researcher, reader, modest], { budget: { maxTokens: 100 } });
      await onRuntime(harness, { agents: [lead, researcher, reader, modest] }, async (runtime) => {
        const { output, usage } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["budget.tokens", "budget.tokens", "answer"]);
        assert.deepEqual([total(model.bill), usage.input + usage.output], [80, 80]);
      });
    },
  },
  {
    name: "3.3 the tree's cap covers all its runs; a child's larger cap does not widen it",
    async run(harness) {
      const model = greedyModel();
      const writer = spender(model, [ask(100)], { budget: { maxTokens: 5_000 } });
      const lead = leadOf([writer, writer, writer, writer]);
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go", { budget: { maxTokens: 350 } })).result();
        assert.deepEqual(output, ["answer", "answer", "answer", "budget.tokens"]);
        assert.equal(total(model.bill), 300);
      });
    },
  },
  {
    name: "3.3 maxTurns counts the run's own calls, not its children's calls",
    async run(harness) {
      const model = greedyModel();
      const writer = spender(model, [ask(50), ask(50), ask(50)]);
      const lead = agentOf(
        "lead",
        async (ctx) => {
          const { status } = await ctx.join(await ctx.spawn(writer, "work"));
          await ctx.llm(prompt, ask(50));
          return status;
        },
        { model, budget: { maxTurns: 1 } },
      );
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const { status, output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, output, model.bill.length], ["completed", "completed", 4]);
      });
    },
  },
  {
    name: "3.3 the tree's turns are the root's: the smaller of the two limits counts",
    async run(harness) {
      const model = greedyModel();
      const agent = spender(model, [ask(50), ask(50)], { budget: { maxTurns: 10 } });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go", { budget: { maxTurns: 1 } });
        const { stopReason, error } = await run.result();
        assert.deepEqual([stopReason, error?.["limit"], model.bill.length], ["budget.turns", 1, 1]);
      });
    },
  },
  {
    name: "3.3 a budget belongs to a run: two runs of one agent never share an account",
    async run(harness) {
      const model = greedyModel();
      const writer = spender(model, [ask(90), ask(90)], { budget: { maxTokens: 100 } });
      const lead = leadOf([writer, writer]);
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([output, model.bill.length], [["budget.tokens", "budget.tokens"], 2]);
      });
    },
  },
  {
    name: "3.3 a spawning with a limit that is not a limit is refused",
    async run(harness) {
      const writer = agentOf("writer", async () => null);
      const lead = agentOf("lead", async (ctx) =>
        ctx.spawn(writer, "work", { budget: { maxTokens: -1 } }).then(
          () => "spawned",
          (error: unknown) => (error instanceof RangeError ? "refused" : "another error"),
        ),
      );
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        assert.equal((await (await runtime.start(lead, "go")).result()).output, "refused");
      });
    },
  },
  {
    name: "3.5 thirty concurrent callers never exceed their tree's cap, by the model's own bill",
    async run(harness) {
      const model = greedyModel();
      const caller = agentOf("caller", async (ctx) => void (await ctx.llm(prompt, { maxOutputTokens: 82 })), {
        model,
      });
      const lead = agentOf("lead", async (ctx) => {
        const handles = await Promise.all(Array.from({ length: 30 }, () => ctx.spawn(caller, "work")));
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.map(({ stopReason }) => stopReason);
      });
      await onRuntime(harness, { agents: [lead, caller] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { budget: { maxTokens: 1_000 } });
        const { output, usage } = await run.result();
        assert.deepEqual(new Set(Array.isArray(output) ? output : []), new Set(["answer", "budget.tokens"]));
        assert.ok(total(model.bill) <= 1_000, `billed ${total(model.bill)}`);
        assert.ok(total(model.bill) > 800, `billed only ${total(model.bill)}`);
        assert.equal(usage.input + usage.output, total(model.bill));
      });
    },
  },
  {
    name: "3.5 concurrent calls of many runs are decided one by one: each gets its own answer and keeps its events together",
    async run(harness) {
      const model = greedyModel();
      const caller = spender(model, [ask(100)], { name: "caller" });
      const lead = agentOf("lead", async (ctx) => {
        const handles = await Promise.all(Array.from({ length: 24 }, () => ctx.spawn(caller, "work")));
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.map(({ stopReason }) => stopReason);
      });
      await onRuntime(harness, { agents: [lead, caller] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { budget: { maxTokens: 1_150 } });
        const { output } = await run.result();
        const stops = Array.isArray(output) ? output : [];
        assert.equal(stops.filter((stop) => stop === "answer").length, 10);
        assert.equal(stops.filter((stop) => stop === "budget.tokens").length, 14);
        assert.equal(total(model.bill), 1_000);
        const events = await historyOf(run);
        assert.deepEqual(
          events.map(({ seq }) => seq),
          events.map((_, index) => index + 1),
        );
        const reserved = only(events, "budget.reserved");
        assert.equal(reserved.length, 10);
        for (const { seq, attempt } of reserved) {
          const next = events[seq];
          assert.deepEqual([next?.type, next?.attempt], ["model.start", attempt]);
        }
        // A denied call leaves only the event of its denial.
        assert.equal(new Set(only(events, "budget.denied").map(({ runId }) => runId)).size, 14);
        assert.equal(only(events, "run.end").length, 25);
      });
    },
  },
  {
    name: "3.5 for each attempt the reservation comes first, then the call, then the settlement",
    async run(harness) {
      const model = greedyModel();
      const agent = agentOf(
        "agent",
        async (ctx) => {
          await Promise.all([1, 2, 3].map(() => ctx.llm(prompt, ask(50))));
          await ctx.llm(prompt, ask(50));
        },
        { model },
      );
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        const events = await historyOf(run);
        const starts = only(events, "model.start");
        assert.equal(new Set(starts.map(({ attempt }) => attempt)).size, 4);
        for (const { attempt } of starts) {
          const types = events.filter((event) => event.attempt === attempt).map(({ type }) => type);
          assert.deepEqual(types, ["budget.reserved", "model.start", "budget.settled", "model.end"]);
        }
      });
    },
  },
  {
    name: "3.5 the ledger settles the usage that models report, in every account of the call",
    async run(harness) {
      let calls = 0;
      const reported: number[] = [];
      const model = greedyModel({
        price: tokenPrice,
        reports: () => {
          const usage = { input: 10 + (calls++ % 7), output: 3, cachedInput: 2 };
          reported.push(usage.input + usage.output);
          return usage;
        },
      });
      const leaf = spender(model, [ask(50), ask(50)], { name: "leaf" });
      const middle = agentOf(
        "middle",
        async (ctx) => {
          const handles = [await ctx.spawn(leaf, "work"), await ctx.spawn(leaf, "work")];
          await Promise.all([1, 2, 3].map(() => ctx.llm(prompt, ask(50))));
          await Promise.all(handles.map((handle) => ctx.join(handle)));
        },
        { model },
      );
      const lead = agentOf(
        "lead",
        async (ctx) => (await ctx.join(await ctx.spawn(middle, "work"))).costMicros,
      );
      await onRuntime(harness, { agents: [lead, middle, leaf] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { usage, costMicros, inDoubtMicros, output } = await run.result();
        const sum = reported.reduce((a, b) => a + b, 0);
        const settled = only(await historyOf(run), "budget.settled");
        assert.deepEqual([reported.length, settled.length], [7, 7]);
        assert.deepEqual([usage.input + usage.output, costMicros, inDoubtMicros, output], [sum, sum, 0, sum]);
        assert.equal(
          settled.reduce((each, { tokens }) => each + tokens, 0),
          sum,
        );
        assert.equal(usage.cachedInput, 14);
      });
    },
  },
];
