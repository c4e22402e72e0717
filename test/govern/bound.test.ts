import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import * as fc from "fast-check";
import type { ChatMessage } from "reeve";
import { govern, type GovernEvent } from "reeve/govern";
import type { FakeProviderOptions } from "reeve/testing";
import { expect, test } from "vitest";
import { promptV4 } from "../../src/models/prompt.ts";
import { conversations } from "../models/conversations.ts";
import { look, openDouble } from "../testing/real-providers.ts";

type Fetch = typeof globalThis.fetch;

const providers: Readonly<Record<string, (baseURL: string, fetch: Fetch) => LanguageModelV4>> = {
  chat: (baseURL, fetch) => createOpenAI({ baseURL, fetch, apiKey: "none" }).chat("double-1"),
  responses: (baseURL, fetch) => createOpenAI({ baseURL, fetch, apiKey: "none" }).responses("double-1"),
  anthropic: (baseURL, fetch) => createAnthropic({ baseURL, fetch, apiKey: "none" })("double-1"),
};

const everyDoor = Object.keys(providers).flatMap((provider) => [
  { provider, door: "model" as const },
  { provider, door: "fetch" as const },
]);

/** Asks for the beginnings of random conversations, and compares each reservation with the bill. */
async function expectWithinReservation(
  { provider, door }: (typeof everyDoor)[number],
  settings: FakeProviderOptions,
  beginnings: (messages: readonly ChatMessage[]) => readonly number[],
): Promise<void> {
  const double = await openDouble({
    ...settings,
    script: () => ({ text: "At the brook.", outputTokens: 40 }),
  });
  const holds = fc.asyncProperty(conversations, async (messages) => {
    const reserved: number[] = [];
    const before = double.bill.entries.length;
    const options = {
      budget: { maxTokens: 1e9 },
      onEvent: (event: GovernEvent) => void (event.type === "budget.reserved" && reserved.push(event.tokens)),
    };
    const fetch = door === "fetch" ? govern.fetch(options) : globalThis.fetch;
    const plain = providers[provider]?.(double.baseURL, fetch);
    const model = plain && door === "model" ? govern(plain, options) : plain;
    for (const length of beginnings(messages)) {
      const prompt = promptV4(messages.slice(0, length));
      // A provider refuses some of them, which costs nothing.
      await model?.doGenerate({ prompt, tools: [look], maxOutputTokens: 50 }).then(null, () => {});
    }
    const bills = double.bill.entries.slice(before).map((bill) => bill.inputTokens + bill.outputTokens);
    expect(bills).toHaveLength(reserved.length);
    for (const [index, bill] of bills.entries()) expect(reserved[index]).toBeGreaterThanOrEqual(bill);
  });
  await fc.assert(holds, { numRuns: 40 });
  expect(double.bill.total().billed).toBeGreaterThan(20);
}

test.each(everyDoor)("$provider, at its $door: no call costs more than it reserved", async (way) => {
  await expectWithinReservation(way, {}, (messages) => [messages.length]);
});

test.each(everyDoor)(
  "$provider, at its $door: no call that continues a conversation costs more than it reserved",
  async (way) => {
    // The fake provider draws the hidden text of each prompt; a real one hides the same text in the same prefix.
    const nothingHidden = { hiddenTokensPerMessage: 0, toolPromptTokens: 0 };
    await expectWithinReservation(way, nothingHidden, (messages) => [2, messages.length]);
  },
);
