import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { expect, test } from "vitest";
import { ChatMessage, Json, type JsonObject, type Model, type ModelDelta, type ModelRequest } from "#kernel";
import { languageModel, type AnyModel } from "#models";
import { say, scriptedModel } from "reeve/testing";
import { cannedAnswer } from "./canned-answers.ts";
import { cannedServer } from "./canned-server.ts";
import { look } from "./conversations.ts";
import { fakeV3, fakeV4 } from "./fake-models.ts";
import { ask, hello, realModel, ways, wires, type Wire } from "./real-providers.ts";

/** The additions of wires that show their reasoning. */
const thinks = new Set<Wire>(["anthropic", "openai responses"]);

const everywhere = wires.flatMap((wire) => ways.map((way) => ({ wire, way })));

test.for(everywhere)(
  "$wire, $way: an answer has its parts in order, its usage and its finish reason",
  async ({ wire, way }) => {
    await using server = await cannedServer(cannedAnswer(wire, way));
    const { message, usage, finishReason } = await ask(realModel(wire, server.url), way);
    expect(message.role).toBe("assistant");
    expect(message.content).toMatchObject([
      ...(thinks.has(wire) ? [{ type: "reasoning", text: "Hm." }] : []),
      { type: "text", text: "Let me look." },
      { type: "tool-call", callId: "call_1", name: "look", input: { question: "pump" } },
    ]);
    expect(usage).toEqual({ input: 120, output: 30, cachedInput: 100 });
    expect(finishReason).toBe("tool-calls");
  },
);

test.for(everywhere)(
  "$wire, $way: an answer survives JSON and returns with the fields that the provider needs",
  async ({ wire, way }) => {
    await using server = await cannedServer(cannedAnswer(wire, way));
    const model = realModel(wire, server.url);
    const { message } = await ask(model, way);
    const stored = Json.as<ChatMessage>(JSON.parse(JSON.stringify(message)));
    const messages: ChatMessage[] = [
      ChatMessage.system("Be brief."),
      ChatMessage.user("When was the pump built?"),
      stored,
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            callId: "call_1",
            name: "look",
            isError: false,
            content: [{ type: "text", text: "1987" }],
          },
        ],
      },
    ];
    await ask(model, way, { request: { ...hello, messages, tools: [look] } });
    const sent = JSON.stringify(server.requests[1]);
    for (const piece of [
      "Be brief.",
      "When was the pump built?",
      "Let me look.",
      "call_1",
      "1987",
      "Look a fact up",
      ...(thinks.has(wire) ? ["SECRET"] : []),
    ])
      expect(sent).toContain(piece);
  },
);

test.for(everywhere)(
  "$wire, $way: the limit of the reservation is the limit on the wire",
  async ({ wire, way }) => {
    await using server = await cannedServer(cannedAnswer(wire, way));
    await ask(realModel(wire, server.url), way);
    const { max_tokens, max_completion_tokens, max_output_tokens } = server.requests[0] ?? {};
    expect(max_tokens ?? max_completion_tokens ?? max_output_tokens).toBe(64);
  },
);

test.for(wires)("%s: every piece is reported as it arrives", async (wire) => {
  await using server = await cannedServer(cannedAnswer(wire, "streamed"));
  const deltas: ModelDelta[] = [];
  await ask(realModel(wire, server.url), "streamed", { onDelta: (delta) => deltas.push(delta) });
  const told = (kind: ModelDelta["kind"]) =>
    deltas
      .filter((delta) => delta.kind === kind)
      .map(({ text }) => text)
      .join("");
  expect(told("text")).toBe("Let me look.");
  expect(told("tool-input")).toBe('{"question":"pump"}');
  expect(told("reasoning")).toBe(thinks.has(wire) ? "Hm." : "");
});

test("OpenAI does not store the conversation, unless the user sets it", async () => {
  await using server = await cannedServer(cannedAnswer("openai responses", "whole"));
  const openai = createOpenAI({ baseURL: server.url, apiKey: "k" });
  await ask(languageModel(openai("gpt-5")), "whole");
  await ask(languageModel(openai("gpt-5"), { providerOptions: { openai: { store: true } } }), "whole");
  expect(server.requests.map(({ store }) => store)).toEqual([false, true]);
});

test.for([
  {
    asked: 2_000,
    ceiling: 6_000,
    sent: { max_tokens: 6_000, thinking: { type: "enabled", budget_tokens: 2_000 } },
  },
  {
    asked: 8_000,
    ceiling: 6_000,
    sent: { max_tokens: 6_000, thinking: { type: "enabled", budget_tokens: 3_000 } },
  },
  { asked: 8_000, ceiling: 1_000, sent: { max_tokens: 1_000, thinking: { type: "disabled" } } },
])("a thinking budget of $asked fits into a limit of $ceiling tokens", async ({ asked, ceiling, sent }) => {
  await using server = await cannedServer(cannedAnswer("anthropic", "whole"));
  const claude = createAnthropic({ baseURL: server.url, apiKey: "k" })("claude-sonnet-4-5");
  const model = languageModel(claude, {
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: asked } } },
  });
  await ask(model, "whole", { request: { ...hello, maxOutputTokens: ceiling } });
  expect(server.requests[0]).toMatchObject(sent);
});

test("options of a call go before options of the model, field by field", async () => {
  const { model, calls } = fakeV4([{ type: "text", text: "hi" }]);
  const options = { acme: { effort: "low", seed: 1 }, other: { a: 1 } };
  await ask(languageModel(model, { providerOptions: options, settings: { temperature: 0.2 } }), "whole", {
    request: { ...hello, options: { acme: { effort: "high" } } },
  });
  expect(calls[0]?.providerOptions).toEqual({ acme: { effort: "high", seed: 1 }, other: { a: 1 } });
  expect(calls[0]?.temperature).toBe(0.2);
});

test("a V3 model answers like a V4 model", async () => {
  const { model, calls } = fakeV3([
    { type: "text", text: "hi" },
    { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
  ]);
  const { message, finishReason } = await ask(languageModel(model), "whole");
  expect(message.content).toEqual([
    { type: "text", text: "hi" },
    { type: "file", mediaType: "image/png", source: { base64: "AQID" } },
  ]);
  expect(finishReason).toBe("stop");
  expect(calls[0]?.prompt).toEqual([{ role: "user", content: [{ type: "text", text: "hello" }] }]);
});

test("a model of this package is returned unchanged", () => {
  const model: Model = scriptedModel([say("hi")]);
  expect(languageModel(model)).toBe(model);
});

test("a model of this package takes no options", () => {
  expect(() => languageModel(scriptedModel([say("hi")]), { maxOutputTokens: 5 })).toThrow(TypeError);
});

test("a V2 model is refused with the remedy", () => {
  const old = Json.as<AnyModel>(Json.of({ ...fakeV3([]).model, specificationVersion: "v2" }));
  expect(() => languageModel(old)).toThrow(/v2.*upgrade.*wrapLanguageModel/);
});

test.for(["openai/gpt-5", "gpt-5", null, undefined, 7, {}])("%j is not a model", (model) => {
  expect(() => languageModel(Json.as(Json.of(model)))).toThrow(TypeError);
});

test("a known model has its price and context window; the user's values override them", () => {
  const openai = createOpenAI({ apiKey: "k" });
  expect(languageModel(openai("gpt-4o"))).toMatchObject({
    id: "gpt-4o",
    provider: "openai.responses",
    price: { input: 2_500_000, output: 10_000_000, cachedInput: 1_250_000 },
    contextWindow: 128_000,
  });
  const price = { input: 1, output: 2 };
  expect(languageModel(openai("gpt-4o"), { price, contextWindow: 9, maxOutputTokens: 8 })).toMatchObject({
    price,
    contextWindow: 9,
    maxOutputTokens: 8,
  });
});

test("the price includes the requested cache writes", () => {
  const claude = createAnthropic({ apiKey: "k" })("claude-sonnet-5");
  const write = (cacheControl?: JsonObject) =>
    languageModel(claude, { promptCache: "off", providerOptions: { anthropic: { cacheControl } } }).price
      ?.cacheWrite;
  expect(write()).toBeUndefined();
  expect(write({ type: "ephemeral" })).toBe(2_500_000);
  expect(write({ type: "ephemeral", ttl: "1h" })).toBe(4_000_000);
});

test("a request without tools sends none", async () => {
  const { model, calls } = fakeV4([{ type: "text", text: "hi" }]);
  const request: ModelRequest = { ...hello, tools: [] };
  await ask(languageModel(model), "whole", { request });
  expect(calls[0]).not.toHaveProperty("tools");
});
