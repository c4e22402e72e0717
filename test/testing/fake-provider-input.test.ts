import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ChatMessage, ContentBlock } from "#kernel";
import { inputBound } from "#models";
import { answers } from "../../src/testing/fake-provider/index.ts";
import { ask, look, openDouble, providers, realModel, user } from "./real-providers.ts";

const words = fc.string({ unit: "grapheme", maxLength: 30 });
const anyTurns = fc.array(
  fc.record({ asked: words, said: words, looked: fc.array(fc.tuple(words, words), { maxLength: 3 }) }),
  { maxLength: 3 },
);

test.each(providers)("the hidden prompt keeps %s within the reservation for the input", async (name) => {
  const double = await openDouble({ script: answers(["."]) });
  const model = realModel(name, double);
  await fc.assert(
    fc.asyncProperty(anyTurns, async (list) => {
      const conversation = converse(list);
      await ask(model, "generate", { prompt: conversation.prompt, tools: [look] });
      const bound = inputBound(conversation.messages, [look]);
      expect(double.bill.entries.at(-1)?.inputTokens).toBeLessThanOrEqual(bound);
    }),
    { numRuns: 60 },
  );
});

test("the hidden prompt is at most 15 tokens around each message", async () => {
  const double = await openDouble({ script: answers(["."]) });
  const model = realModel("responses", double);
  for (const text of "abcdefghijklmnopqrst") {
    await ask(model, "generate", { prompt: [{ role: "system", content: "Be brief." }, ...user(text)] });
  }
  const hidden = double.bill.entries.map(({ hiddenTokens }) => hiddenTokens);
  expect(Math.max(...hidden)).toBeLessThanOrEqual(30);
  expect(Math.min(...hidden)).toBeLessThan(Math.max(...hidden));
  expect(double.bill.entries.every((entry) => entry.inputTokens - entry.hiddenTokens === 5)).toBe(true);
});

test.each([
  ["anthropic", undefined, 530],
  ["chat", undefined, 0],
  ["chat", 40, 40],
] as const)(
  "the hidden prompt of %s with %s has up to %i tokens about tools",
  async (name, toolPromptTokens, most) => {
    const double = await openDouble({ hiddenTokensPerMessage: 0, toolPromptTokens, script: answers(["."]) });
    const model = realModel(name, double);
    for (const text of "abcdefghijkl") {
      await ask(model, "generate", { prompt: user(text), tools: [look] });
    }
    const hidden = double.bill.entries.map(({ hiddenTokens }) => hiddenTokens);
    expect(Math.max(...hidden)).toBeLessThanOrEqual(most);
    expect(Math.max(...hidden)).toBeGreaterThanOrEqual(most / 2);
    await ask(model, "generate");
    expect(double.bill.entries.at(-1)?.hiddenTokens).toBe(0);
  },
);

interface Turn {
  readonly asked: string;
  readonly said: string;
  /** Questions and answers. */
  readonly looked: readonly (readonly [string, string])[];
}

/** The same conversation for Reeve and for an AI SDK model. */
function converse(turns: readonly Turn[]): {
  readonly messages: readonly ChatMessage[];
  readonly prompt: LanguageModelV4CallOptions["prompt"];
} {
  const messages: ChatMessage[] = [];
  const prompt: LanguageModelV4CallOptions["prompt"] = [];
  for (const [turn, { asked, said, looked }] of turns.entries()) {
    const calls = looked.map(([question, result], index) => ({
      callId: `call-${turn}-${index}`,
      name: "look",
      input: { question },
      result,
    }));
    messages.push(ChatMessage.user(asked), {
      role: "assistant",
      content: [
        ContentBlock.text(said),
        ...calls.map(({ callId, name, input }) => ({ type: "tool-call" as const, callId, name, input })),
      ],
    });
    prompt.push(...user(asked), {
      role: "assistant",
      content: [
        { type: "text", text: said },
        ...calls.map(({ callId, name, input }) => ({
          type: "tool-call" as const,
          toolCallId: callId,
          toolName: name,
          input,
        })),
      ],
    });
    if (calls.length === 0) continue;
    messages.push({
      role: "tool",
      content: calls.map(({ callId, name, result }) => ({
        type: "tool-result",
        callId,
        name,
        content: [ContentBlock.text(result)],
        isError: false,
      })),
    });
    prompt.push({
      role: "tool",
      content: calls.map(({ callId, name, result }) => ({
        type: "tool-result",
        toolCallId: callId,
        toolName: name,
        output: { type: "text", value: result },
      })),
    });
  }
  messages.push(ChatMessage.user("Go on."));
  prompt.push(...user("Go on."));
  return { messages, prompt };
}
