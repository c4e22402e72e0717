import { agent, ChatMessage, createRuntime, tool } from "reeve";
import { z } from "zod";

const input = 20;

const call = (name, given) => ({
  role: "assistant",
  content: [{ type: "tool-call", callId: "1", name, input: given }],
});

/** @returns the tokens that all models together really used. */
export async function overspend({ limit, helperCalls, tokensPerCall }) {
  let spent = 0;
  const model = (id, decide) => ({
    id,
    maxOutputTokens: 1_000,
    async generate({ messages, maxOutputTokens }) {
      const answer = decide(messages.filter(({ role }) => role === "assistant").length);
      const output = Math.min(answer.tokens, maxOutputTokens);
      spent += input + output;
      return { message: answer.message, usage: { input, output }, finishReason: answer.reason };
    },
  });
  const note = tool({
    name: "note",
    description: "n",
    input: z.object({}),
    risk: "safe",
    execute: async () => "noted",
  });
  const writer = agent({
    name: "writer",
    tools: [note],
    model: model("writer", (turn) =>
      turn < helperCalls - 1
        ? { message: call("note", {}), reason: "tool-calls", tokens: tokensPerCall }
        : { message: ChatMessage.assistant("done"), reason: "stop", tokens: tokensPerCall },
    ),
  });
  const lead = agent({
    name: "lead",
    team: [writer],
    model: model("lead", (turn) =>
      turn === 0
        ? { message: call("ask_writer", { task: "go" }), reason: "tool-calls", tokens: 20 }
        : { message: ChatMessage.assistant("answer"), reason: "stop", tokens: 20 },
    ),
  });
  await using runtime = createRuntime({ agents: [lead, writer] });
  const run = await runtime.start(lead, "go", { budget: { maxTokens: limit } });
  await run.result();
  return spent;
}
