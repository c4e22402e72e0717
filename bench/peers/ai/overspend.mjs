// The SDK's own idioms: a sub-agent is a tool that calls `generate`, a token limit is a stop condition on the steps.
import { isStepCount, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

const input = 20;
const usage = (given, output) => ({ inputTokens: { total: given }, outputTokens: { total: output } });

const call = (name) => [{ type: "tool-call", toolCallId: "1", toolName: name, input: "{}" }];

/** @returns the tokens that all models together really used. */
export async function overspend({ limit, helperCalls, tokensPerCall }) {
  let spent = 0;
  const model = (decide) => ({
    specificationVersion: "v4",
    provider: "mock",
    modelId: "mock",
    supportedUrls: {},
    async doGenerate({ prompt, maxOutputTokens = Infinity }) {
      const answer = decide(prompt.filter(({ role }) => role === "assistant").length);
      const output = Math.min(answer.tokens, maxOutputTokens);
      spent += input + output;
      return {
        content: answer.content,
        finishReason: { unified: answer.reason },
        usage: usage(input, output),
        warnings: [],
      };
    },
  });
  const note = tool({ description: "note", inputSchema: z.object({}), execute: () => "noted" });
  const writer = new ToolLoopAgent({
    model: model((turn) =>
      turn < helperCalls - 1
        ? { content: call("note"), reason: "tool-calls", tokens: tokensPerCall }
        : { content: [{ type: "text", text: "done" }], reason: "stop", tokens: tokensPerCall },
    ),
    tools: { note },
    stopWhen: isStepCount(50),
  });
  const ask = tool({
    description: "ask",
    inputSchema: z.object({}),
    execute: async () => (await writer.generate({ prompt: "go" })).text,
  });
  const total = ({ steps }) =>
    steps.reduce((sum, step) => sum + (step.usage.totalTokens ?? step.usage.inputTokens ?? 0), 0);
  const lead = new ToolLoopAgent({
    model: model((turn) =>
      turn === 0
        ? { content: call("ask"), reason: "tool-calls", tokens: 20 }
        : { content: [{ type: "text", text: "answer" }], reason: "stop", tokens: 20 },
    ),
    tools: { ask },
    stopWhen: (state) => total(state) >= limit,
  });
  await lead.generate({ prompt: "go" });
  return spent;
}
