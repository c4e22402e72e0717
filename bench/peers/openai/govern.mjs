// OpenAI Agents' own idioms: a sub-agent is a tool created by `asTool`, a token limit is a check of the run's usage
// before each call.
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);

export async function overspend({ limit, baseURL, fetch }) {
  const client = new OpenAI({ apiKey: "none", baseURL, fetch });
  const model = (id) => new OpenAIChatCompletionsModel(client, id);
  const note = tool({
    name: "note",
    description: "note",
    parameters: z.object({}),
    execute: () => "noted",
  });
  const writer = new Agent({ name: "writer", instructions: "Help.", model: model("writer"), tools: [note] });
  const lead = new Agent({
    name: "lead",
    instructions: ({ usage }) => {
      if (usage.totalTokens >= limit) throw new Error(`${usage.totalTokens} of ${limit} tokens used`);
      return "Ask.";
    },
    model: model("lead"),
    tools: [writer.asTool({ toolName: "ask", toolDescription: "ask", runOptions: { maxTurns: 50 } })],
  });
  return (await run(lead, "go", { maxTurns: 50 })).finalOutput;
}
