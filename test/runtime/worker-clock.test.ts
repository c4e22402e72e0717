import { local } from "#engines/local";
import { AgentId, type Agent, type Engine, type EngineProgram } from "#kernel";
import { Runtime } from "#runtime";
import { expect, test } from "vitest";

const hourMs = 3_600_000;

/** An engine whose workers have a clock that is ahead; the objects have the correct time. */
function engineAhead(ms: number): Engine {
  const engine = local();
  const define = (program: EngineProgram): void =>
    engine.define({
      ...program,
      run: (primitives) => program.run({ ...primitives, now: () => primitives.now() + ms }),
    });
  return { ...engine, define };
}

const agentOf = (run: Agent["run"]): Agent => ({ id: AgentId.of("worker"), run });

test("4.7 a worker with a clock ahead does not end a run before its deadline", async () => {
  const made: number[] = [];
  const agent = agentOf(async (ctx) => {
    for (const number of [1, 2, 3]) await ctx.step("work", () => void made.push(number), { input: number });
    return "done";
  });
  await using runtime = new Runtime({ agents: [agent], engine: engineAhead(hourMs) });
  const run = await runtime.start(agent, "go", { deadlineS: 600 });
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  expect(made).toEqual([1, 2, 3]);
});

test("4.7 a worker with a clock behind does not let a run continue after its deadline", async () => {
  const agent = agentOf((ctx) => ctx.waitFor("never"));
  await using runtime = new Runtime({ agents: [agent], engine: engineAhead(-hourMs) });
  const run = await runtime.start(agent, "go", { deadlineS: 0.1 });
  expect(await run.result()).toMatchObject({ status: "cancelled", stopReason: "deadline" });
});
