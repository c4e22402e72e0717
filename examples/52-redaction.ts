// Redaction: models see placeholders; trusted tools, and the reader of the answer, get the real values.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, redact, tool, type Model, type ModelRequest } from "reeve";
import * as z from "zod";

const sent: string[] = [];
const sendEmail = tool({
  name: "send_email",
  description: "Sends an e-mail.",
  risk: "safe",
  input: z.object({ to: z.string() }),
  execute: async ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  },
});

/** All prompts of the models. */
const shown: string[] = [];
/** Passes the address on and then confirms it, as a model would. */
const model: Model = {
  id: "model",
  async generate({ messages }: ModelRequest) {
    const text = JSON.stringify(messages);
    shown.push(text);
    const [address = "none"] = /\[email-\w+\]/.exec(text) ?? [];
    const usage = { input: 10, output: 5 };
    if (text.includes("tool-result"))
      return { message: ChatMessage.assistant(`I wrote to ${address}.`), finishReason: "stop", usage };
    const call = { type: "tool-call", callId: "1", name: "send_email", input: { to: address } } as const;
    return { message: { role: "assistant", content: [call] }, finishReason: "tool-calls", usage };
  },
};

const hide = redact({ restore: "answers", tools: ["send_email"] });
const writer = agent({ name: "writer", model, tools: [sendEmail], middleware: { chat: [hide] } });
await using runtime = createRuntime({ agents: [writer] });
const { output } = await (await runtime.start(writer, "Write to ann@example.com.")).result();

assert.equal(output, "I wrote to ann@example.com.");
assert.deepEqual(sent, ["ann@example.com"]);
assert.ok(shown.every((text) => !text.includes("ann@example.com")));
console.log(shown.length, "prompts without an address");
