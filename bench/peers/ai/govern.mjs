// The SDK's own idioms: a sub-agent is a tool that calls `generate`, a token limit is a stop condition on the steps.
import { isStepCount, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

export async function overspend({ limit, model }) {
  const note = tool({ description: "note", inputSchema: z.object({}), execute: () => "noted" });
  const helper = new ToolLoopAgent({ model: model("helper"), tools: { note }, stopWhen: isStepCount(50) });
  const ask = tool({
    description: "ask",
    inputSchema: z.object({}),
    execute: async () => (await helper.generate({ prompt: "go" })).text,
  });
  const boss = new ToolLoopAgent({
    model: model("boss"),
    tools: { ask },
    stopWhen: ({ steps }) => steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0) >= limit,
  });
  return (await boss.generate({ prompt: "go" })).text;
}
