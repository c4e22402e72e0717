// Mastra's own idioms: a sub-agent is one of `agents`, a token limit is a stop condition on the steps.
process.env.MASTRA_TELEMETRY_DISABLED ??= "1";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

export async function overspend({ limit, model }) {
  const note = createTool({
    id: "note",
    description: "note",
    inputSchema: z.object({}),
    execute: async () => "noted",
  });
  const writer = new Agent({
    id: "writer",
    name: "writer",
    description: "helps",
    instructions: "Help.",
    model: model("writer"),
    tools: { note },
    defaultOptions: { maxSteps: 50 },
  });
  const lead = new Agent({
    id: "lead",
    name: "lead",
    instructions: "Ask.",
    model: model("lead"),
    agents: { writer },
  });
  new Mastra({ agents: { lead, writer }, logger: false });
  const { text } = await lead.generate("go", {
    maxSteps: 50,
    stopWhen: ({ steps }) => steps.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0) >= limit,
  });
  return text;
}
