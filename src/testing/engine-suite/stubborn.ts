import assert from "node:assert/strict";
import type { Agent } from "#kernel";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { stopwatch } from "./stopwatch.ts";

/** Loops that ignore every error: each is common as "retry until it works". */
const loops: Readonly<Record<string, Agent["run"]>> = {
  "a step": (ctx) => forEver(() => ctx.step("poll", pause)),
  "a check and a step": (ctx) =>
    forEver(async () => {
      ctx.check();
      await ctx.step("poll", pause);
    }),
  "a wait": (ctx) => forEver(() => ctx.waitFor("never", { timeoutS: 0.01 })),
  "an emit": (ctx) => forEver(() => ctx.emit("again")),
  "a message": (_, inbox) => forEver(async () => void (await inbox[Symbol.asyncIterator]().next())),
};

async function forEver(act: () => Promise<unknown>): Promise<never> {
  for (;;) {
    try {
      await act();
    } catch {
      // Ignores every error and repeats.
    }
  }
}

/** An agent beside the loop: records when it makes a step, until stopped. */
const tickingAgent = (ticks: number[], now: () => number, isOver: () => boolean): Agent["run"] => {
  const tick = async (): Promise<boolean> => {
    await pause();
    ticks.push(now());
    return isOver();
  };
  return async (ctx) => {
    while (!(await ctx.step("tick", tick)));
  };
};

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

const longestGap = (ticks: readonly number[]): number =>
  Math.round(Math.max(...ticks.slice(1).map((at, index) => at - (ticks[index] ?? at))));

/** Code that does not stop after a cancel neither keeps its run alive nor blocks other runs. */
export const stubbornCases: readonly EngineCase[] = Object.entries(loops).map(([name, loop]): EngineCase => ({
  name: `4.1 a cancelled run that catches every error and continues still ends: ${name}`,
  async run(harness) {
    let isOver = false;
    const ticks: number[] = [];
    const now = await stopwatch();
    const stubborn = agentOf("stubborn", loop);
    const other = agentOf(
      "other",
      tickingAgent(ticks, now, () => isOver),
    );
    await onRuntime(harness, { agents: [stubborn, other] }, async (runtime) => {
      const run = await runtime.start(stubborn, "go");
      const beside = await runtime.start(other, "go");
      await eventually("the other run works", () => ticks.length > 1);
      const receipt = await run.cancel("enough");
      assert.deepEqual(
        receipt.runs.map(({ runId }) => runId),
        [run.runId],
      );
      assert.equal((await run.result()).status, "cancelled");
      isOver = true;
      assert.equal((await beside.result()).status, "completed");
      const gap = longestGap(ticks);
      assert.ok(gap <= 1_000 * (harness.slowness ?? 1), `the other run stood still for ${gap} ms`);
    });
  },
}));
