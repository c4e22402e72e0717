import { ChatMessage, type ContentBlock } from "#kernel";
import { fileTokens, inputBound, pictureRules, writesCache, type FileReader } from "#models";
import { expect, test } from "vitest";

const picture = {
  type: "file",
  mediaType: "image/png",
  source: { url: "https://example.com/a.png" },
} as const satisfies ContentBlock;

test.for<[FileReader, number]>([
  [{ id: "claude-sonnet-4-5", provider: "anthropic.messages" }, 4_784],
  [{ id: "us.anthropic.claude-opus-4-8-v1:0", provider: "amazon-bedrock" }, 4_784],
  [{ id: "gpt-4o", provider: "openai.chat" }, 1_445],
  [{ id: "gpt-4o-mini", provider: "azure.chat" }, 48_169],
  [{ id: "gpt-5-mini-2025-08-07", provider: "openai.responses" }, 2_489],
  [{ id: "gemini-3-flash-preview", provider: "google.generative-ai" }, 2_240],
  [{ id: "gpt-6-sol", provider: "openai.responses" }, Infinity],
  [{ id: "gemini-2.5-flash", provider: "google.generative-ai" }, Infinity],
  [{ id: "gpt-4o", provider: "my-proxy.chat" }, Infinity],
  [{ id: "gpt-4o" }, Infinity],
  [{ id: "own", maxFileTokens: 300 }, 300],
])("a picture for %j is at most %d tokens", ([reader, tokens]) => {
  expect(fileTokens(picture, reader)).toBe(tokens);
  const message: ChatMessage = { role: "user", content: [{ type: "text", text: "see" }, picture] };
  expect(inputBound([message], [], { reader })).toBeGreaterThanOrEqual(tokens + 3);
});

test("the result of a tool with a picture is bounded like a message with one", () => {
  const result: ContentBlock = {
    type: "tool-result",
    callId: "c",
    name: "look",
    content: [picture, picture],
    isError: false,
  };
  const message: ChatMessage = { role: "tool", content: [result] };
  const reader = { id: "gpt-4o", provider: "openai.chat" };
  expect(inputBound([message])).toBe(Infinity);
  expect(inputBound([message], [], { reader })).toBeGreaterThan(2 * 1_445);
  expect(inputBound([message], [], { reader })).toBeLessThan(2 * 1_445 + 300);
});

test("inline text is at most its bytes, where the provider takes it; other files have no bound", () => {
  const text: ContentBlock = {
    type: "file",
    mediaType: "text/plain",
    source: { base64: btoa("x".repeat(300)) },
  };
  const claude = { id: "claude-sonnet-4-5", provider: "anthropic.messages" };
  expect(fileTokens(text, claude)).toBe(300);
  expect(fileTokens(text, { id: "gpt-4o", provider: "openai.chat" })).toBe(Infinity);
  expect(fileTokens({ ...text, mediaType: "application/pdf" }, claude)).toBe(Infinity);
  expect(fileTokens({ ...text, source: { url: "https://example.com/a.txt" } }, claude)).toBe(Infinity);
});

test("a prompt with a file that has no bound of its own is at most the context window", () => {
  const pdf: ContentBlock = { type: "file", mediaType: "application/pdf", source: { base64: "AAAA" } };
  const stored: ContentBlock = { ...pdf, source: { content: "name", bytes: 5_000_000 } };
  const reader = { id: "own", contextWindow: 200_000 };
  for (const file of [pdf, stored]) {
    const messages: ChatMessage[] = [{ role: "user", content: [file, file] }];
    expect(inputBound(messages)).toBe(Infinity);
    expect(inputBound(messages, [], { reader })).toBe(200_000);
    expect(inputBound(messages, [], { reader: { ...reader, maxFileTokens: 9_000 } })).toBeLessThan(18_200);
  }
});

test("text in the content port is at most its bytes", () => {
  const text: ContentBlock = {
    type: "file",
    mediaType: "text/plain",
    source: { content: "name", bytes: 700 },
  };
  expect(fileTokens(text, { id: "claude-sonnet-4-5", provider: "anthropic.messages" })).toBe(700);
});

test("each model matches at most one rule for pictures", () => {
  const ids = ["claude-3-5-sonnet", "gpt-4o", "gpt-4o-mini", "o1", "o3", "o4-mini", "gpt-5", "gpt-5-mini"];
  for (const id of ids)
    for (const provider of ["openai.chat", "anthropic.messages"])
      expect(
        pictureRules.filter((rule) => rule.provider.test(provider) && rule.model.test(id)).length,
      ).toBeLessThan(2);
});

test("a part that is written to the cache is detected", () => {
  const cached: ContentBlock = {
    type: "text",
    text: "long",
    providerData: { anthropic: { cacheControl: { type: "ephemeral" } } },
  };
  expect(writesCache([ChatMessage.user("hi")])).toBe(false);
  expect(writesCache([ChatMessage.user("hi"), { role: "user", content: [cached] }])).toBe(true);
});
