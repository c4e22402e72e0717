import { expect, test } from "vitest";
import { ChatMessage, Json, type ToolCallBlock } from "#kernel";
import { isMalformed, languageModel } from "#models";
import { cannedMalformed } from "./canned-answers.ts";
import { cannedServer } from "./canned-server.ts";
import { fakeV4, finish } from "./fake-models.ts";
import { ask, hello, realModel, ways } from "./real-providers.ts";

test("arguments that are not JSON are kept separately, and are never used as input", async () => {
  await using server = await cannedServer(cannedMalformed());
  const { message, finishReason } = await ask(realModel("openai chat", server.url), "streamed");
  const call = message.content.find((block): block is ToolCallBlock => block.type === "tool-call");
  expect(call).toEqual({
    type: "tool-call",
    callId: "call_1",
    name: "look",
    input: null,
    malformedInput: '{"question": "mi',
    malformedBecause: "not-json",
  });
  expect(call && isMalformed(call)).toBe(true);
  expect(finishReason).toBe("length");
});

test.for(["null", "[1]", '"text"', "{}", ""])(
  "a call with the arguments %j goes back to the provider as an object",
  async (input) => {
    const { model, calls } = fakeV4([{ type: "tool-call", toolCallId: "c", toolName: "look", input }]);
    const wrapped = languageModel(model);
    const { message } = await ask(wrapped, "whole");
    expect(message.content[0]).toMatchObject({ input: input === "" ? {} : JSON.parse(input) });
    await ask(wrapped, "whole", { request: { ...hello, messages: [...hello.messages, message] } });
    expect(calls[1]?.prompt.at(-1)?.content).toMatchObject([{ type: "tool-call", input: {} }]);
  },
);

test.for([
  ["poisoned-key", '{"a":{"__proto__":{"admin":true}}}'],
  ["poisoned-key", '{"b":[{"\\u005f_proto__":1}]}'],
  ["duplicate-key", '{"to":"ann","t\\u006f":"eve"}'],
  ["broken-text", '{"a":"\\ud83d"}'],
  ["broken-text", '{"\\udc00":1}'],
  ["inexact-number", '{"a":[1e309]}'],
  ["inexact-number", '{"a":-12345678901234567890}'],
  ["too-deep", `${"[".repeat(65)}${"]".repeat(65)}`],
  ["too-many-keys", `{${Array.from({ length: 10_001 }, (_, key) => `"${key}":1`).join(",")}}`],
  ["too-large", `"${"a".repeat(1_000_000)}"`],
  ["too-large", `"${"ü".repeat(500_000)}"`],
  ["not-json", '{"a":1'],
] as const)("ambiguous or too large arguments are refused as %s", async ([because, input]) => {
  for (const given of [input, ...(because === "poisoned-key" ? [JSON.parse(input)] : [])]) {
    const { model } = fakeV4([{ type: "tool-call", toolCallId: "c", toolName: "look", input: given }]);
    const { message } = await ask(languageModel(model), "whole");
    expect(message.content[0]).toMatchObject({ input: null, malformedBecause: because });
  }
});

test.for([
  '{"c":"__proto__","a":{"x":1},"b":{"x":1}}',
  `${"[".repeat(64)}${"]".repeat(64)}`,
  `"${"a".repeat(999_998)}"`,
  '["\\ud83d\\ude00","{\\"a\\":1,\\"a\\":2}"]',
])("valid input near a limit is accepted", async (input) => {
  const { model } = fakeV4([{ type: "tool-call", toolCallId: "c", toolName: "look", input }]);
  const { message } = await ask(languageModel(model), "whole");
  expect(message.content[0]).toMatchObject({ input: JSON.parse(input) });
});

test("a call that the provider executes itself is not executed by the runtime", async () => {
  const { model } = fakeV4([
    { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "s", toolName: "web_search", result: { found: 1 } },
    { type: "text", text: "Found." },
  ]);
  const { message } = await ask(languageModel(model), "whole");
  expect(message.content).toEqual([{ type: "text", text: "Found." }]);
});

test.for([
  { says: "nothing at all", usage: {} },
  { says: "no input", usage: { inputTokens: { total: undefined }, outputTokens: { total: 5 } } },
  { says: "no output", usage: { inputTokens: { total: 5 }, outputTokens: {} } },
  { says: "an input of nothing", usage: { inputTokens: { total: 0 }, outputTokens: { total: 5 } } },
  { says: "less than nothing", usage: { inputTokens: { total: 5 }, outputTokens: { total: -1 } } },
  { says: "not a number", usage: { inputTokens: { total: Number.NaN }, outputTokens: { total: 1 } } },
  { says: "half a token", usage: { inputTokens: { total: 1.5 }, outputTokens: { total: 1 } } },
  {
    says: "more cached than read",
    usage: { inputTokens: { total: 5, cacheRead: 6 }, outputTokens: { total: 1 } },
  },
])("a report of $says counts as no usage report", async ({ usage }) => {
  const { model } = fakeV4([{ type: "text", text: "hi" }], {
    ...finish("stop"),
    usage: Json.as(Json.of(usage)),
  });
  expect((await ask(languageModel(model), "whole")).usage).toBeNull();
});

test.for(["stop", "length", "content-filter", "tool-calls", "error", "other"] as const)(
  "the reason %s is passed on, with the usage",
  async (reason) => {
    const { model } = fakeV4([{ type: "text", text: "hi" }], finish(reason));
    const { finishReason, usage } = await ask(languageModel(model), "whole");
    expect(finishReason).toBe(reason);
    expect(usage).toEqual({ input: 10, output: 5, cachedInput: 0 });
  },
);

test("parts of a kind we do not know are ignored, and blocks come in the order they began", async () => {
  const parts: unknown[] = [
    { type: "stream-start", warnings: [] },
    { type: "hologram", id: "9" },
    { type: "reasoning-start", id: "a" },
    { type: "text-start", id: "a" },
    { type: "text-delta", id: "a", delta: "one " },
    { type: "reasoning-delta", id: "a", delta: "thought", providerMetadata: { acme: { signature: "s" } } },
    { type: "raw", rawValue: {} },
    { type: "text-delta", id: "a", delta: "two" },
    { type: "text-end", id: "a" },
    { type: "reasoning-end", id: "a" },
    { type: "text-start", id: "a" },
    { type: "text-delta", id: "a", delta: "three" },
    { type: "text-end", id: "a" },
    { type: "text-start", id: "empty" },
    { type: "text-end", id: "empty" },
    { type: "ping" },
    finish("stop"),
  ];
  const { model } = fakeV4(parts);
  const { message } = await ask(languageModel(model), "streamed");
  expect(message.content).toEqual([
    { type: "reasoning", text: "thought", providerData: { acme: { signature: "s" } } },
    { type: "text", text: "one two" },
    { type: "text", text: "three" },
  ]);
});

test("a model that ignores its signal is abandoned", async () => {
  const { model } = fakeV4([], finish("stop"), { answers: "never" });
  for (const way of ways) {
    const controller = new AbortController();
    const reason = new Error("enough");
    const answer = ask(languageModel(model), way, { signal: controller.signal });
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
  }
});

test("a stream that ignores its signal is abandoned", async () => {
  const parts = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "hi" },
  ];
  const { model, cancelled } = fakeV4(parts, undefined, { after: "silence" });
  const controller = new AbortController();
  const reason = new Error("enough");
  const onDelta = () => queueMicrotask(() => controller.abort(reason));
  const answer = ask(languageModel(model), "streamed", { signal: controller.signal, onDelta });
  await expect(answer).rejects.toBe(reason);
  expect(cancelled).toEqual([reason]);
});

test("a stream that reports a failure is abandoned", async () => {
  const { model, cancelled } = fakeV4([{ type: "error", error: "it broke" }], undefined, {
    after: "silence",
  });
  await expect(ask(languageModel(model), "streamed")).rejects.toMatchObject({
    kind: "unknown",
    unbilled: false,
  });
  expect(cancelled).toHaveLength(1);
});

test("a stream cut after the end of its answer is complete", async () => {
  const { model } = fakeV4(
    [{ type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "hi" }, finish("stop")],
    undefined,
    {
      after: new TypeError("terminated"),
    },
  );
  const { message } = await ask(languageModel(model), "streamed");
  expect(ChatMessage.text(message)).toBe("hi");
});
