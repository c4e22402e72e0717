// LangChain's own idioms: a sub-agent is a tool that invokes an agent, a token limit is middleware that checks the
// usage of the messages before each call.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";

export async function overspend({ limit, baseURL, fetch }) {
  const model = (id) => new ChatOpenAI({ model: id, apiKey: "none", configuration: { baseURL, fetch } });
  const say = (content) => ({ messages: [{ role: "user", content }] });
  const last = ({ messages }) => messages.at(-1).content;
  const note = tool(() => "noted", { name: "note", description: "note", schema: z.object({}) });
  const writer = createAgent({ model: model("writer"), tools: [note] });
  const ask = tool(async () => last(await writer.invoke(say("go"), { recursionLimit: 200 })), {
    name: "ask",
    description: "ask",
    schema: z.object({}),
  });
  const capped = createMiddleware({
    name: "capped",
    beforeModel: {
      canJumpTo: ["end"],
      hook: ({ messages }) => {
        const used = messages.reduce((sum, { usage_metadata: usage }) => sum + (usage?.total_tokens ?? 0), 0);
        return used >= limit ? { jumpTo: "end" } : undefined;
      },
    },
  });
  const lead = createAgent({ model: model("lead"), tools: [ask], middleware: [capped] });
  return last(await lead.invoke(say("go")));
}
