// The SDK's own idioms: a sub-agent is a tool that calls `generate`, a token limit is a stop condition on the steps.
import { isStepCount, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

export async function overspend({ limit, model }) {
  const note = tool({ description: "note", inputSchema: z.object({}), execute: () => "noted" });
  const writer = new ToolLoopAgent({ model: model("writer"), tools: { note }, stopWhen: isStepCount(50) });
  const ask = tool({
    description: "ask",
    inputSchema: z.object({}),
    execute: async () => (await writer.generate({ prompt: "go" })).text,
  });
  const lead = new ToolLoopAgent({
    model: model("lead"),
    tools: { ask },
    stopWhen: ({ steps }) => steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0) >= limit,
  });
  return (await lead.generate({ prompt: "go" })).text;
}
