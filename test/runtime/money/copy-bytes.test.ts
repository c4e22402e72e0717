import { createOpenAI } from "@ai-sdk/openai";
import { agent, createRuntime, languageModel, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { ProviderMessage, type ProviderScript } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDouble } from "../../testing/real-providers.ts";

const price = { input: 3_000_000, output: 15_000_000, cachedInput: 300_000 };

/** Answers with text; a review stores a note first. */
const script: ProviderScript = ({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "user" && ProviderMessage.text(last).startsWith("Keep notes")
    ? { toolCalls: [{ name: "remember", input: { note: "The user reads reports." } }] }
    : { text: "The report says so, on its second page. ".repeat(4) };
};

test("the request of a review begins with the bytes of the turn's request, on the wire, and most of it comes from the cache", async ({
  annotate,
}) => {
  const double = await openDouble({
    script,
    promptCache: {},
    hiddenTokensPerMessage: 0,
    toolPromptTokens: 0,
  });
  const bodies: string[] = [];
  const wire: typeof fetch = (url, init) => {
    bodies.push(typeof init?.body === "string" ? init.body : "");
    return fetch(url, init);
  };
  const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "secret", fetch: wire });
  const model = languageModel(openai.chat("double-1"), { price, contextWindow: 1_000_000 });
  const notes: string[] = [];
  const remember = tool({
    name: "remember",
    description: "Keeps a note",
    input: z.object({ note: z.string() }),
    risk: "safe",
    execute: ({ note }) => notes.push(note),
  });
  let reads = 0;
  const researcher = agent({
    name: "researcher",
    model,
    tools: [remember],
    instructions: "You answer questions about reports, with their pages. ".repeat(200),
    // It would be another text for the copy, if that were not sent its parent's.
    sections: [{ name: "visits", place: "user", keep: "turn", read: () => `Visit ${(reads += 1)}.` }],
    review: { every: 3, tools: ["remember"], task: "Keep notes of what was said." },
  });
  await using runtime = createRuntime({ agents: [researcher], store: memoryStore() });
  const talk = await runtime.sessions.create(researcher, { user: "ada" });
  let costMicros = 0;
  for (const turn of [1, 2, 3]) costMicros += (await talk.invoke(`Question ${turn}?`)).costMicros;
  expect(notes).toEqual(["The user reads reports."]);
  const [, , turn = "", review = "", ...rest] = bodies;
  expect(rest).toHaveLength(1);
  const { messages, tools } = JSON.parse(turn);
  expect(JSON.parse(review).tools).toEqual(tools);
  const end = turn.indexOf(JSON.stringify(messages)) + JSON.stringify(messages).length - 1;
  expect(end).toBeGreaterThan(1_000);
  expect(review.slice(0, end)).toBe(turn.slice(0, end));
  const { inputTokens = 0, cachedTokens = 0 } = double.bill.entries[3] ?? {};
  await annotate(`${cachedTokens} of ${inputTokens} input tokens of the review came from the cache`);
  expect(cachedTokens / inputTokens).toBeGreaterThan(0.7);
  // The review is part of the bill of the third turn's tree.
  expect(costMicros).toBe(double.bill.costMicros({ "double-1": price }));
});
