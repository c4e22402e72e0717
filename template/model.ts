// A fake provider on this machine. It needs no key. It calls each tool of a request once, in order, and then answers
// with their results.
//
// With a key of your own, this file is two lines:
//
//   import { anthropic } from "@ai-sdk/anthropic";
//   export const model = anthropic("claude-sonnet-4-5");

import { createAnthropic } from "@ai-sdk/anthropic";
import { DoubleMessage, providerDouble, type DoubleScript } from "reeve/testing";

/** Streams answers as slowly as a real model does. */
const slow = { kind: "slow", bytes: 150, everyMs: 100 } as const;

const callEachTool: DoubleScript = ({ messages, tools }) => {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool-result"));
  const next = tools[results.length];
  if (!next) return { text: results.map(({ text }) => text).join("\n") || "No tool to call.", fault: slow };
  const task = messages
    .filter(({ role }) => role === "user")
    .map(DoubleMessage.text)
    .join(" ");
  const last = results.at(-1)?.text ?? task;
  const inputs = { search: { query: last }, send_email: { to: "team@example.com", text: last } };
  const input = Object.entries(inputs).find(([name]) => name === next.name)?.[1] ?? { task: last };
  return { toolCalls: [{ name: next.name, input }] };
};

const provider = await providerDouble({ script: callEachTool, latency: () => 700 });

export const model = createAnthropic({ baseURL: provider.baseURL, apiKey: "none" })("claude-sonnet-4-5");
