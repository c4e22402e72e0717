import assert from "node:assert/strict";
import { type Json, ToolResult } from "#kernel";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, onRuntime } from "./harness.ts";

/** Section 7.6: tool calls that are not over when their step is. */
export const unfinishedCallCases: readonly EngineCase[] = [
  {
    name: "7.6 a call that is not over is executed again later, with its state",
    async run(harness) {
      const seen: Json[] = [];
      const order = {
        ...effect("order", async () => null),
        execute: async (_: Json, { resumed }: { readonly resumed: { readonly state: Json } | null }) => {
          seen.push(resumed?.state ?? null);
          return seen.length < 3 ? ToolResult.later(0.01, { polled: seen.length }) : "ready";
        },
      };
      const agent = agentOf("buyer", async (ctx) => (await ctx.tool("order", {})).value, { tools: [order] });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const { output } = await (await runtime.start(agent, "go")).result();
        assert.equal(output, "ready");
      });
      assert.deepEqual(seen, [null, { polled: 1 }, { polled: 2 }]);
    },
  },
];
