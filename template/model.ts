// A provider on this machine that needs no key. It plays its part by rote: whoever has a team asks everybody in it,
// one after the other; whoever has a tool calls it once; then it says what came of it.
//
// With a key of your own, this file is two lines:
//
//   import { anthropic } from "@ai-sdk/anthropic";
//   export const model = anthropic("claude-sonnet-4-5");

import { createAnthropic } from "@ai-sdk/anthropic";
import { DoubleMessage, providerDouble, type DoubleScript } from "reeve/testing";

/** As models do, it takes its time to speak. */
const slow = { kind: "slow", bytes: 150, everyMs: 100 } as const;

const byRote: DoubleScript = ({ messages, tools }) => {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool-result"));
  const next = tools[results.length];
  if (!next)
    return { text: results.map(({ text }) => text).join("\n") || "There is nothing to do.", fault: slow };
  const words = messages
    .filter(({ role }) => role === "user")
    .map(DoubleMessage.text)
    .join(" ");
  const last = results.at(-1)?.text ?? words;
  const inputs = { look: { subject: last }, send_letter: { to: "the town", text: last } };
  const input = Object.entries(inputs).find(([name]) => name === next.name)?.[1] ?? { task: last };
  return { toolCalls: [{ name: next.name, input }] };
};

const double = await providerDouble({ script: byRote, latency: () => 700 });

export const model = createAnthropic({ baseURL: double.baseURL, apiKey: "none" })("claude-sonnet-4-5");
