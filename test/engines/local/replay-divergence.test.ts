import { AgentId, type Agent, type RunContext } from "reeve";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { Runtime } from "#runtime";

/** Agent code that depends on how often it was executed, which replayable code must not. */
function unstable(body: (ctx: RunContext, execution: number) => Promise<void>): Agent {
  let executions = 0;
  return { id: AgentId.of("unstable"), run: (ctx) => body(ctx, ++executions) };
}

async function outcomeOf(agent: Agent, replayEveryStep: boolean): Promise<readonly unknown[]> {
  const runtime = new Runtime({ agents: [agent], engine: local({ replayEveryStep }) });
  const { status, stopReason, error } = await (await runtime.start(agent, "go")).result();
  await runtime[Symbol.asyncDispose]();
  return [status, stopReason, error?.code ?? null, error?.["step"] ?? null];
}

test("code that names its steps differently on replay fails, and the error names the step", async () => {
  const agent = unstable(async (ctx, execution) => {
    await ctx.step(execution === 1 ? "first" : "renamed", () => 1);
    await ctx.step("second", () => 2);
  });
  expect(await outcomeOf(agent, true)).toEqual([
    "failed",
    "error",
    "replay-divergence",
    "step first:1, now step renamed:1",
  ]);
});

test("code that asks for the same step with another input never gets the old answer", async () => {
  const answers = new Set<number>();
  const agent = unstable(async (ctx, execution) => {
    const input = Math.min(execution, 4);
    answers.add(await ctx.step("ask", () => input, { input }));
    await ctx.step("after", () => 2);
  });
  expect(await outcomeOf(agent, true)).toEqual(["failed", "error", "replay-divergence", "ask:1"]);
  expect(answers).toEqual(new Set());
});

test("code that leaves out a recorded step on replay fails", async () => {
  const done: string[] = [];
  const agent = unstable(async (ctx, execution) => {
    if (execution === 1) await ctx.step("once", () => void done.push("once"));
    await ctx.step("then", () => void done.push("then"));
  });
  expect(await outcomeOf(agent, true)).toEqual([
    "failed",
    "error",
    "replay-divergence",
    "step once:1, now step then:1",
  ]);
  expect(done).toEqual(["once"]);
});

test("code that ends on replay where it went on before fails", async () => {
  const agent = unstable(async (ctx, execution) => {
    await ctx.step("first", () => 1);
    if (execution < 3) await ctx.step("second", () => 2);
  });
  const [status, , code] = await outcomeOf(agent, true);
  expect([status, code]).toEqual(["failed", "replay-divergence"]);
});

test("agent code cannot catch a divergence", async () => {
  const caught: unknown[] = [];
  const agent = unstable(async (ctx, execution) => {
    try {
      await ctx.step("ask", () => 1, { input: Math.min(execution, 4) });
      await ctx.step("after", () => 2);
    } catch (error) {
      caught.push(error);
    } finally {
      caught.push("finally");
    }
  });
  expect(await outcomeOf(agent, true)).toEqual(["failed", "error", "replay-divergence", "ask:1"]);
  expect(caught).toEqual([]);
});

test("without a replay a divergence is not detected", async () => {
  const agent = unstable(async (ctx, execution) => {
    await ctx.step(`step-${execution}`, () => 1);
  });
  expect(await outcomeOf(agent, false)).toEqual(["completed", "answer", null, null]);
});
