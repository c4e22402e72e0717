import { expect, test } from "vitest";
import { ChatMessage, type ContentBlock } from "#kernel";
import { languageModel } from "#models";
import { fakeV3, fakeV4 } from "./fake-models.ts";
import { ask, hello } from "./real-providers.ts";

const picture = { type: "file", mediaType: "image/png", source: { base64: "AQID" } } as const;
const paper = {
  type: "file",
  mediaType: "application/pdf",
  source: { url: "https://example.com/a.pdf" },
  name: "a.pdf",
} as const;

const result = (content: readonly ContentBlock[], isError = false): ChatMessage => ({
  role: "tool",
  content: [{ type: "tool-result", callId: "c", name: "look", content, isError }],
});

async function promptOf(messages: readonly ChatMessage[]) {
  const { model, calls } = fakeV4([{ type: "text", text: "ok" }]);
  await ask(languageModel(model), "whole", { request: { ...hello, messages } });
  return calls[0]?.prompt;
}

async function promptOfV3(messages: readonly ChatMessage[]) {
  const { model, calls } = fakeV3([{ type: "text", text: "ok" }]);
  await ask(languageModel(model), "whole", { request: { ...hello, messages } });
  return calls[0]?.prompt;
}

test("data is sent as JSON, and blocks of a newer version are left out", async () => {
  const content: ContentBlock[] = [
    { type: "data", data: { year: 1987 } },
    { type: "unknown", raw: { type: "hologram" } },
    { type: "text", text: "" },
  ];
  expect(await promptOf([{ role: "user", content }])).toEqual([
    { role: "user", content: [{ type: "text", text: '{"year":1987}' }] },
  ]);
});

test("an empty message is left out", async () => {
  const empty: ChatMessage[] = [
    ChatMessage.system(""),
    ChatMessage.user(""),
    { role: "assistant", content: [{ type: "unknown", raw: 1 }] },
    { role: "tool", content: [] },
  ];
  expect(await promptOf([...empty, ChatMessage.user("hi")])).toHaveLength(1);
});

test("files are sent by address or as bytes", async () => {
  expect(await promptOf([{ role: "user", content: [picture, paper] }])).toEqual([
    {
      role: "user",
      content: [
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
        {
          type: "file",
          mediaType: "application/pdf",
          filename: "a.pdf",
          data: { type: "url", url: new URL("https://example.com/a.pdf") },
        },
      ],
    },
  ]);
  expect(await promptOfV3([{ role: "user", content: [picture, paper] }])).toEqual([
    {
      role: "user",
      content: [
        { type: "file", mediaType: "image/png", data: "AQID" },
        {
          type: "file",
          mediaType: "application/pdf",
          filename: "a.pdf",
          data: new URL("https://example.com/a.pdf"),
        },
      ],
    },
  ]);
});

test("an invalid address is a bad request that cost nothing", async () => {
  const content = [{ type: "file", mediaType: "image/png", source: { url: "not an address" } } as const];
  await expect(promptOf([{ role: "user", content }])).rejects.toMatchObject({
    kind: "format",
    unbilled: true,
  });
});

test("a tool result is text, and an error is marked", async () => {
  const blocks: ContentBlock[] = [
    { type: "text", text: "Built in" },
    { type: "data", data: 1987 },
  ];
  const outputs = [await promptOf([result(blocks)]), await promptOf([result(blocks, true)])];
  expect(outputs.map((prompt) => prompt?.[0]?.content)).toMatchObject([
    [{ toolCallId: "c", toolName: "look", output: { type: "text", value: "Built in\n1987" } }],
    [{ toolCallId: "c", toolName: "look", output: { type: "error-text", value: "Built in\n1987" } }],
  ]);
});

test("the answer of a tool may hold files", async () => {
  const message = result([{ type: "text", text: "See" }, picture, paper]);
  expect((await promptOf([message]))?.[0]?.content).toMatchObject([
    {
      output: {
        type: "content",
        value: [
          { type: "text", text: "See" },
          { type: "file", data: { type: "data", data: "AQID" } },
          { type: "file", data: { type: "url" } },
        ],
      },
    },
  ]);
  expect((await promptOfV3([message]))?.[0]?.content).toMatchObject([
    {
      output: {
        type: "content",
        value: [
          { type: "text", text: "See" },
          { type: "image-data", data: "AQID" },
          { type: "file-url", url: "https://example.com/a.pdf" },
        ],
      },
    },
  ]);
});

test("a conversation of 1,000 messages that is sent twice is converted once", async () => {
  let reads = 0;
  const messages = Array.from({ length: 1_000 }, (_, index): ChatMessage => {
    const content: ContentBlock[] = [{ type: "text", text: `message ${index}` }];
    return {
      role: index % 2 === 0 ? "user" : "assistant",
      get content() {
        reads++;
        return content;
      },
    };
  });
  const first = await promptOf(messages);
  expect(first).toHaveLength(1_000);
  expect(reads).toBe(1_000);
  const second = await promptOf([...messages, ChatMessage.user("and now?")]);
  expect(reads).toBe(1_000);
  expect(second?.[0]).toBe(first?.[0]);
});
