import { AgentId, RunId, type Agent } from "reeve";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { Runtime } from "#runtime";

test.each([false, true])(
  "a child cancelled between its spawn and its first step does nothing (replayed: %s)",
  async (replayEveryStep) => {
    const done: string[] = [];
    const child: Agent = {
      id: AgentId.of("child"),
      run: async (ctx) => {
        await ctx.step("work", () => void done.push("worked"));
      },
    };
    const lead: Agent = {
      id: AgentId.of("lead"),
      run: async (ctx) => {
        const { treeId } = ctx.supervision;
        // In the same batch: the cancel is accepted directly after the spawn, before the child's first operation.
        const [handle] = await Promise.all([
          ctx.spawn(child, "work"),
          ctx.cancel(RunId.of(treeId, 1), "changed my mind"),
        ]);
        const { status, stopReason } = await ctx.join(handle);
        return [status, stopReason];
      },
    };
    const runtime = new Runtime({ agents: [lead, child], engine: local({ replayEveryStep }) });
    const { output } = await (await runtime.start(lead, "go")).result();
    await runtime[Symbol.asyncDispose]();
    expect(output).toEqual(["cancelled", "cancelled"]);
    expect(done).toEqual([]);
  },
);
