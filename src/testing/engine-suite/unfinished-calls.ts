import assert from "node:assert/strict";
import { type Agent, type EffectTool, type Json, type ResumedCall, ToolResult } from "#kernel";
import type { RunHandle, RuntimeOptions } from "#runtime";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, onRuntime, type SuiteHarness } from "./harness.ts";
import { historyOf, only, reaches } from "./history.ts";

const form = { message: "Where to?", required: ["street"] };

/** An agent that orders with a tool that is executed by this function. */
function buyer(execute: EffectTool<Json>["execute"], rest: Partial<EffectTool<Json>> = {}): Agent {
  const order: EffectTool<Json> = { ...effect("order", async () => null), execute, ...rest };
  return agentOf("buyer", orderFlour, { tools: [order] });
}

const orderFlour: Agent["run"] = async (ctx) => {
  const { content, isError } = await ctx.tool("order", { what: "flour" });
  const [block] = content;
  return [isError, block?.type === "text" ? block.text : null];
};

/** A tool that asks once, and tells what it was given then. */
function asksOnce(): {
  readonly seen: (ResumedCall | null)[];
  readonly execute: EffectTool<Json>["execute"];
} {
  const seen: (ResumedCall | null)[] = [];
  const execute: EffectTool<Json>["execute"] = async (_, { resumed }) => {
    seen.push(resumed);
    return resumed ? `sent: ${JSON.stringify(resumed.answer)}` : ToolResult.needs(form, { page: 2 });
  };
  return { seen, execute };
}

const asked = async (run: RunHandle, number = 1): Promise<string> => {
  await eventually("it asks", async () => (await run.approvals()).length >= number);
  await reaches(run, "waiting");
  return (await run.approvals())[number - 1]?.id ?? "";
};

const people = { approver: "people" } as const;

async function bought(
  harness: SuiteHarness,
  agent: Agent,
  options: Omit<RuntimeOptions, "agents" | "engine">,
  body: (run: RunHandle) => Promise<void>,
): Promise<Json> {
  return onRuntime(harness, { ...options, agents: [agent] }, async (runtime) => {
    const run = await runtime.start(agent, "go");
    await body(run);
    return (await run.result()).output ?? null;
  });
}

/** Section 7.6: tool calls that are not over when their step is. */
export const unfinishedCallCases: readonly EngineCase[] = [
  {
    name: "7.6 a tool that needs input asks a person, and is executed again with its state and the answer",
    async run(harness) {
      const { seen, execute } = asksOnce();
      const output = await bought(harness, buyer(execute), people, async (run) => {
        const id = await asked(run);
        const [question] = await run.approvals();
        assert.deepEqual([question?.arguments, question?.needsInput], [form, true]);
        await run.edit(id, { street: "Mill Lane" });
        await run.result();
        const events = await historyOf(run);
        assert.equal(only(events, "tool.end").length, 1);
        assert.equal(only(events, "approval.decided").length, 1);
      });
      const answer = { decision: "accepted", content: { street: "Mill Lane" } } as const;
      assert.deepEqual(output, [false, `sent: ${JSON.stringify(answer)}`]);
      assert.deepEqual(seen, [null, { state: { page: 2 }, answer }]);
    },
  },
  {
    name: "7.6 a person declines the questions of a tool, and the tool is told so",
    async run(harness) {
      const { seen, execute } = asksOnce();
      await bought(harness, buyer(execute, { idempotent: true }), people, async (run) => {
        await run.deny(await asked(run));
      });
      assert.deepEqual(seen.at(-1)?.answer, { decision: "declined", content: null });
    },
  },
  {
    name: "7.6 the questions of a tool are declined where no person can be asked",
    async run(harness) {
      const { seen, execute } = asksOnce();
      await bought(harness, buyer(execute), {}, async (run) => {
        await run.result();
        assert.deepEqual(await run.approvals(), []);
      });
      assert.deepEqual(seen.at(-1)?.answer, { decision: "declined", content: null });
    },
  },
  {
    name: "7.6 an answer to a tool is never remembered, and a remembered approval answers no tool",
    async run(harness) {
      const agent = buyer((_, { resumed }) => (resumed ? "sent" : ToolResult.needs(form)), { risk: "high" });
      const output = await bought(harness, agent, people, async (run) => {
        await run.approve(await asked(run), { remember: true });
        await run.approve(await asked(run, 2), { remember: true });
      });
      assert.deepEqual(output, [false, "sent"]);
    },
  },
  {
    name: "7.6 a tool that asks without end is refused",
    async run(harness) {
      const agent = buyer(() => ToolResult.needs(form));
      const output = await bought(harness, agent, {}, async () => undefined);
      assert.deepEqual(output, [true, "order asked for input 8 times"]);
    },
  },
  {
    name: "7.6 a call that is not over is executed again later, with its state",
    async run(harness) {
      const seen: Json[] = [];
      const agent = buyer(async (_, { resumed }) => {
        seen.push(resumed?.state ?? null);
        return seen.length < 3 ? ToolResult.later(0.01, { polled: seen.length }) : "ready";
      });
      const output = await bought(harness, agent, {}, async () => undefined);
      assert.deepEqual(output, [false, "ready"]);
      assert.deepEqual(seen, [null, { polled: 1 }, { polled: 2 }]);
    },
  },
  {
    name: "7.6 a tool is told when the run is cancelled before its call is over",
    async run(harness) {
      const told: Json[] = [];
      const cancel = (state: Json): void => void told.push(state);
      for (const left of [ToolResult.later(3600, { job: 1 }), ToolResult.needs(form, { job: 2 })]) {
        const agent = buyer(() => left, { cancel });
        await bought(harness, agent, people, async (run) => {
          await reaches(run, "waiting");
          await run.cancel();
        });
      }
      await eventually("it is told", () => told.length >= 2);
      assert.deepEqual([told[0], told.at(-1)], [{ job: 1 }, { job: 2 }]);
    },
  },
  {
    name: "7.6 an execution that may be made again is, if the run must yield in the middle of it",
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
];
