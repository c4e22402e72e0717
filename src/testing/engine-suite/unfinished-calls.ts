import assert from "node:assert/strict";
import { type Agent, type EffectTool, type FunctionMiddleware, type Json, ToolResult } from "#kernel";
import { waitForQuestions } from "./approvals.ts";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, onRuntime } from "./harness.ts";
import { historyOf, only, reaches } from "./history.ts";

/** An agent that orders with a tool that is executed by this function. */
function buyer(execute: EffectTool<Json>["execute"], rest: Partial<EffectTool<Json>> = {}): Agent {
  const order: EffectTool<Json> = { ...effect("order", async () => null), execute, ...rest };
  return agentOf("buyer", orderPaper, { tools: [order] });
}

const orderPaper: Agent["run"] = async (ctx) => {
  const { content, isError } = await ctx.tool("order", { what: "paper" });
  const [block] = content;
  return [isError, block?.type === "text" ? block.text : null];
};

const unknownOutcome =
  "the outcome of order is unknown: it may or may not have happened; do not assume either";

/** Sections 5.3 and 7.6: tool calls that outlive their step, or that get no answer. */
export const unfinishedCallCases: readonly EngineCase[] = [
  {
    name: "7.6 an unfinished call is executed again later, with its state",
    async run(harness) {
      const seen: Json[] = [];
      const agent = buyer(async (_, { resumed }) => {
        seen.push(resumed?.state ?? null);
        return seen.length < 3 ? ToolResult.later(0.01, { polled: seen.length }) : "ready";
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const { output } = await (await runtime.start(agent, "go")).result();
        assert.deepEqual(output, [false, "ready"]);
      });
      assert.deepEqual(seen, [null, { polled: 1 }, { polled: 2 }]);
    },
  },
  {
    name: "7.6 a tool's cancel function is called when the run is cancelled before its call ends",
    async run(harness) {
      const told: Json[] = [];
      const cancel = (state: Json): void => void told.push(state);
      for (const left of [
        ToolResult.later(3600, { job: 1 }),
        ToolResult.ask({ question: "Where to?" }, { job: 2 }),
      ]) {
        const agent = buyer(() => left, { cancel });
        await onRuntime(harness, { agents: [agent], approver: "human" }, async (runtime) => {
          const run = await runtime.start(agent, "go");
          await reaches(run, "waiting");
          await run.cancel();
          await run.result();
        });
      }
      await eventually("it is told", () => told.length >= 2);
      assert.deepEqual([told[0], told.at(-1)], [{ job: 1 }, { job: 2 }]);
    },
  },
  {
    name: "7.6 a repeatable execution is repeated if the run must yield during it",
    async run(harness) {
      const seen: Json[] = [];
      const child = buyer(async (_, { resumed, signal }) => {
        if (!resumed) return ToolResult.later(0, { job: 1 }, { rerun: true });
        seen.push(resumed.state);
        if (seen.length > 1) return "ready";
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
      });
      const urgent = agentOf("urgent", async () => "done");
      const root = agentOf("root", async (ctx) => {
        const order = await ctx.spawn(child, "go", { priority: "low" });
        await ctx.waitFor("go");
        await ctx.join(await ctx.spawn(urgent, "go", { priority: "high" }));
        return (await ctx.join(order)).output ?? null;
      });
      const options = { agents: [root, child, urgent], yieldTimeoutS: 0.1 };
      const { output } = await onRuntime(harness, options, async (runtime) => {
        const run = await runtime.start(root, "go", { spawn: { maxAgents: 2 } });
        await eventually("it is executed again", () => seen.length > 0);
        await run.signal("go");
        return run.result();
      });
      assert.deepEqual(output, [false, "ready"]);
      assert.deepEqual(seen, [{ job: 1 }, { job: 1 }]);
    },
  },
  {
    name: "5.3 a call that was sent and not answered is not made again, and the model is told that its outcome is unknown",
    async run(harness) {
      let sent = 0;
      const again: FunctionMiddleware = {
        repeats: true,
        async process(_, next) {
          await next();
          await next();
        },
      };
      const agent: Agent = {
        ...buyer(() => {
          sent += 1;
          return ToolResult.unknownOutcome("connection closed");
        }),
        policy: { function: [again] },
      };
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        const { output } = await run.result();
        assert.deepEqual(output, [true, `${unknownOutcome} (connection closed)`]);
        const ends = only(await historyOf(run), "tool.end");
        assert.deepEqual(
          ends.map(({ status }) => status),
          ["unknown"],
        );
      });
      assert.equal(sent, 1);
    },
  },
  {
    name: '5.3 a call that was sent and not answered is made again only with consent, if its tool has onUnknown: "ask"',
    async run(harness) {
      for (const [verdict, expected] of [
        ["approve", [false, "paid"]],
        ["deny", [true, unknownOutcome]],
      ] as const) {
        let sent = 0;
        const agent = buyer(
          () => ((sent += 1) === 1 ? ToolResult.unknownOutcome("connection closed") : "paid"),
          {
            onUnknown: "ask",
          },
        );
        await onRuntime(harness, { agents: [agent], approver: "human" }, async (runtime) => {
          const run = await runtime.start(agent, "go");
          const question = await waitForQuestions(run);
          assert.equal(sent, 1);
          await run[verdict](question);
          assert.deepEqual((await run.result()).output, expected);
        });
        assert.equal(sent, verdict === "approve" ? 2 : 1);
      }
    },
  },
];
