import * as fc from "fast-check";
import { estimateTokenCount } from "tokenx";
import { expect, test } from "vitest";
import { ChatMessage, type ContentBlock, type JsonObject } from "#kernel";
import { estimateTokens, inputBound, ReportedPrompt } from "#models";
import { cannedAnswer } from "./canned-answers.ts";
import { cannedServer } from "./canned-server.ts";
import { conversations, look, words } from "./conversations.ts";
import { ask, hello, realModel, wires } from "./real-providers.ts";

const usage = { input: 1_000, output: 200 };

test("no tokenizer makes more tokens of a text than the bound allows", () => {
  fc.assert(
    fc.property(fc.array(words, { maxLength: 5 }), (texts) => {
      const bound = inputBound(texts.map((text) => ChatMessage.user(text)));
      const bytes = texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
      const units = texts.reduce((sum, text) => sum + text.length, 0);
      const estimate = texts.reduce((sum, text) => sum + estimateTokenCount(text), 0);
      expect(bound).toBeGreaterThanOrEqual(bytes + 16 * texts.length);
      expect(bound).toBeGreaterThanOrEqual(Math.max(units, estimate));
    }),
    { numRuns: 500 },
  );
});

test.for(wires)("%s: no request on the wire has more tokens than the bound", async (wire) => {
  await using server = await cannedServer(cannedAnswer(wire, "whole"));
  const model = realModel(wire, server.url);
  await fc.assert(
    fc.asyncProperty(conversations, async (messages) => {
      await ask(model, "whole", { request: { ...hello, messages } });
      expect(inputBound(messages)).toBeGreaterThanOrEqual(bytesOf(server.requests.at(-1)));
    }),
    { numRuns: 100 },
  );
});

test.for(wires)("%s: text that a provider's package encodes as JSON again still fits", async (wire) => {
  await using server = await cannedServer(cannedAnswer(wire, "whole"));
  const nasty = '"\\\n\u0001'.repeat(500);
  const messages: ChatMessage[] = [true, false].map((isError) => ({
    role: "tool",
    content: [
      {
        type: "tool-result",
        callId: "c",
        name: "look",
        isError,
        content: [
          { type: "text", text: nasty },
          { type: "data", data: { nasty } },
        ],
      },
    ],
  }));
  await ask(realModel(wire, server.url), "whole", { request: { ...hello, messages } });
  expect(inputBound(messages)).toBeGreaterThanOrEqual(bytesOf(server.requests[0]));
});

test("tools count with their schema, and with the provider's general text about tools", () => {
  const messages = [ChatMessage.user("hi")];
  const more = inputBound(messages, [look]) - inputBound(messages);
  expect(more).toBeGreaterThanOrEqual(JSON.stringify(look).length + 530);
});

test("messages that a provider has counted use its count, and the rest their bytes", () => {
  const sent = [ChatMessage.system("s".repeat(50_000)), ChatMessage.user("hi")];
  const reported = ReportedPrompt.of(sent, [look], usage);
  const answer = ChatMessage.assistant("a".repeat(100));
  const next = [...sent, answer, ChatMessage.user("b".repeat(30))];
  expect(inputBound(next, [look], { reported })).toBe(1_000 + 100 + 16 + 30 + 16);
});

test("a conversation that grows after its report is counted as grown", () => {
  const messages = [ChatMessage.user("x".repeat(5_000))];
  const reported = ReportedPrompt.of(messages, [], usage);
  messages.push(ChatMessage.user("y".repeat(400)));
  expect(inputBound(messages, [], { reported })).toBe(1_000 + 400 + 16);
});

test("a tool that is new counts, a tool that was reported does not", () => {
  const messages = [ChatMessage.user("x".repeat(5_000))];
  const reported = ReportedPrompt.of(messages, [look], usage);
  const other = { ...look, name: "other" };
  const more = inputBound(messages, [look, other], { reported }) - inputBound(messages, [look], { reported });
  expect(more).toBe(JSON.stringify(other).length + 16);
});

test("thinking counts with its original tokens, not with its stored form", () => {
  const sent = [ChatMessage.user("x".repeat(5_000))];
  const reported = ReportedPrompt.of(sent, [], usage);
  const answer: ChatMessage = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm.", providerData: { acme: { signature: "s".repeat(40) } } },
      { type: "text", text: "ok" },
    ],
  };
  expect(inputBound([...sent, answer], [], { reported })).toBeGreaterThan(1_000 + 200 + 40);
});

test("a report never makes the bound larger than the bytes", () => {
  fc.assert(
    fc.property(conversations, fc.nat(20), (messages, kept) => {
      const reported = ReportedPrompt.of(messages.slice(0, kept), [], { input: 10 ** 6, output: 5 });
      expect(inputBound(messages, [], { reported })).toBe(inputBound(messages));
    }),
  );
});

test("a replaced message and all later ones count as new", () => {
  const sent = [ChatMessage.user("a".repeat(3_000)), ChatMessage.user("b".repeat(3_000))];
  const reported = ReportedPrompt.of(sent, [], usage);
  const edited = [sent[0] ?? ChatMessage.user(""), ChatMessage.user("c".repeat(4_000))];
  expect(inputBound(edited, [], { reported })).toBe(1_000 + 4_000 + 16);
});

const files: readonly ContentBlock[] = [
  { type: "file", mediaType: "image/png", source: { url: "https://example.com/a.png" } },
  { type: "file", mediaType: "image/png", source: { base64: "AQID" } },
];

test.for(files)("a file has no token bound: $source", (file) => {
  const direct: ChatMessage = { role: "user", content: [file] };
  const result: ChatMessage = {
    role: "tool",
    content: [{ type: "tool-result", callId: "c", name: "look", content: [file], isError: false }],
  };
  expect(inputBound([direct])).toBe(Infinity);
  expect(inputBound([result])).toBe(Infinity);
  const reported = ReportedPrompt.of([direct], [], usage);
  expect(inputBound([direct, ChatMessage.user("and?")], [], { reported })).toBe(1_000 + 4 + 16);
});

test("each message is measured once, however long the conversation grows", () => {
  let reads = 0;
  const messages = Array.from({ length: 1_000 }, (_, index): ChatMessage => ({
    role: "user",
    get content() {
      reads++;
      return [{ type: "text" as const, text: `message ${index}` }];
    },
  }));
  for (let turn = 1; turn <= messages.length; turn++) {
    inputBound(messages.slice(0, turn), [look]);
    estimateTokens(messages.slice(0, turn), [look]);
  }
  // Once to measure, once to freeze, once for the estimate.
  expect(reads).toBe(3_000);
});

test("an estimate is between the number of words and the bound", () => {
  fc.assert(
    fc.property(conversations, (messages) => {
      const estimate = estimateTokens(messages, [look]);
      expect(estimate).toBeGreaterThan(0);
      expect(estimate).toBeLessThanOrEqual(inputBound(messages, [look]) * 1.5);
    }),
  );
});

test("an estimate starts from the report; JSON counts half as much again", () => {
  const sent = [ChatMessage.user("x".repeat(5_000))];
  const reported = ReportedPrompt.of(sent, [look], usage);
  const next = [...sent, ChatMessage.assistant("Built in 1987.")];
  expect(estimateTokens(next, [look], { reported }) - 1_000).toBeLessThan(20);
  const json = JSON.stringify(look);
  expect(estimateTokens([], [look])).toBe(Math.ceil(1.5 * estimateTokenCount(json)));
});

test("after a compaction the earlier report does not count", () => {
  const reported = ReportedPrompt.of([ChatMessage.user("a"), ChatMessage.user("b")], [], usage);
  expect(estimateTokens([ChatMessage.user("summary")], [], { reported })).toBeLessThan(50);
});

/** The bytes of a prompt on the wire. */
function bytesOf({ system, messages, input }: JsonObject = {}): number {
  const sent = [...leaves(system), ...leaves(messages), ...leaves(input)];
  return sent.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** Returns every string of a request that a model may read. Type tags are not text. */
function leaves(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "type" || key === "role" ? [] : leaves(inner),
  );
}

test("a prompt that has grown is remembered without a copy, and a changed prompt is a new one", () => {
  const messages = [ChatMessage.user("a"), ChatMessage.assistant("b")];
  const first = ReportedPrompt.of(messages, [], usage);
  const second = first.extend([...messages, ChatMessage.user("c")], [], usage);
  expect([first.count, second.count, first.countCovered(messages), second.countCovered(messages)]).toEqual([
    2, 3, 2, 2,
  ]);
  const forked = first.extend([...messages, ChatMessage.user("d")], [], usage);
  expect(forked.countCovered([...messages, ChatMessage.user("c")])).toBe(2);
  expect(second.extend([ChatMessage.user("other")], [], usage).count).toBe(1);
});

test("a long conversation is bounded by its reported size", () => {
  const messages = Array.from({ length: 300 }, (_, index) => ChatMessage.user(`message ${index}`));
  const reported = ReportedPrompt.of(messages, [], { input: 1_000_000, output: 1 });
  const more = [...messages, ChatMessage.user("more")];
  expect(inputBound(more, [], { reported })).toBeGreaterThan(1_000_000);
  expect(inputBound(more.slice(-2), [], { reported })).toBeLessThan(100);
});
