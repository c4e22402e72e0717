import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { answers, type ProviderRequest } from "../../src/testing/fake-provider/index.ts";
import { ask, failure, look, openDouble, realModel, user } from "./real-providers.ts";

/** The library's form of an earlier answer that the caller sends back. */
function earlier(itemId: string): Parameters<typeof ask>[2] {
  const text = { type: "text", text: "By the river.", providerOptions: { openai: { itemId } } } as const;
  return {
    prompt: [
      ...user("Where is the pump?"),
      { role: "assistant", content: [text] },
      ...user("And the bakery?"),
    ],
  };
}

/** The id under which the provider may have stored an answer. */
function itemIdOf({ content }: LanguageModelV4GenerateResult): string {
  const id = content[0]?.providerMetadata?.["openai"]?.["itemId"];
  return typeof id === "string" ? id : "";
}

test("OpenAI's responses restore stored text by its id, and bill it like sent text", async () => {
  const asked: ProviderRequest[] = [];
  const double = await openDouble({
    script: (request) => (asked.push(request), { text: "By the river." }),
    hiddenTokensPerMessage: 0,
  });
  const model = realModel("responses", double);
  const itemId = itemIdOf(await model.doGenerate({ prompt: user("Where is the pump?") }));
  await ask(model, "generate", earlier(itemId));
  expect(asked[1]?.body["input"]).toContainEqual({ type: "item_reference", id: itemId });
  expect(asked[1]?.messages[1]).toEqual({
    role: "assistant",
    parts: [{ type: "text", text: "By the river." }],
  });
  const [first, second] = double.bill.entries;
  expect(second?.inputTokens).toBeGreaterThan((first?.inputTokens ?? 0) + (first?.outputTokens ?? 0));
});

test("OpenAI's responses cannot restore text that was sent with store off", async () => {
  const double = await openDouble({ script: answers(["By the river."]) });
  const model = realModel("responses", double);
  const providerOptions = { openai: { store: false } };
  const itemId = itemIdOf(await model.doGenerate({ prompt: user("Where is the pump?"), providerOptions }));
  const error = await failure(ask(model, "generate", earlier(itemId)));
  expect(error).toMatchObject({ statusCode: 404, message: expect.stringContaining("not found") });
  expect(double.bill.entries.at(-1)).toMatchObject({ outcome: "invalid-request", billed: false });
});

test("OpenAI's responses refuse a limit below 16", async () => {
  const double = await openDouble();
  const error = await failure(ask(realModel("responses", double), "stream", { maxOutputTokens: 15 }));
  expect(error).toMatchObject({ statusCode: 400, data: { error: { code: "integer_below_min_value" } } });
});

test("OpenAI's responses refuse a conversation that only the provider knows", async () => {
  const double = await openDouble();
  const providerOptions = { openai: { previousResponseId: "resp_1" } };
  const error = await failure(ask(realModel("responses", double), "generate", { providerOptions }));
  expect(error).toMatchObject({ statusCode: 400, data: { error: { param: "previous_response_id" } } });
});

test("OpenAI's responses return encrypted reasoning to callers that request it", async () => {
  const double = await openDouble({ script: answers([{ reasoning: "Hm.", text: "River." }]) });
  const { content } = await realModel("responses", double).doGenerate({
    prompt: user("Where?"),
    providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
  });
  expect(content[0]).toMatchObject({
    type: "reasoning",
    providerMetadata: { openai: { reasoningEncryptedContent: expect.stringMatching(/^gAAAAA/) } },
  });
});

test("OpenAI's chat completions report the usage of a stream only on request", async () => {
  const double = await openDouble({ script: answers(["By the river."]) });
  const silent = createOpenAICompatible({ baseURL: double.baseURL, name: "silent" })("double-1");
  expect((await ask(silent, "stream")).usage?.inputTokens.total).toBeUndefined();
  expect((await ask(realModel("chat", double), "stream")).usage?.inputTokens.total).toBeGreaterThan(0);
  expect(double.bill.total().billed).toBe(2);
});

test("OpenAI's chat completions take the limit of a reasoning model by its other name", async () => {
  const asked: ProviderRequest[] = [];
  const double = await openDouble({ script: (request) => (asked.push(request), { text: "Yes." }) });
  await ask(createOpenAI({ baseURL: double.baseURL, apiKey: "k" }).chat("o3"), "generate", {
    maxOutputTokens: 77,
    prompt: [{ role: "system", content: "Be brief." }, ...user("Well?")],
  });
  expect(asked).toMatchObject([
    { maxOutputTokens: 77, system: "Be brief.", body: { max_completion_tokens: 77 } },
  ]);
});

test("OpenAI's chat completions hide that a tool failed", async () => {
  const seen = await resultsOf("chat");
  expect(seen).toEqual([{ type: "tool-result", callId: "c1", text: '{"error":"no pump"}', isError: false }]);
});

test("Anthropic's messages say that a tool failed", async () => {
  const seen = await resultsOf("anthropic");
  expect(seen).toEqual([{ type: "tool-result", callId: "c1", text: "no pump", isError: true }]);
});

test("Anthropic's messages may answer beyond the caller's limit by the budget for thoughts, which the library adds", async () => {
  const asked: ProviderRequest[] = [];
  const double = await openDouble({ script: (request) => (asked.push(request), { outputTokens: 1_050 }) });
  const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } };
  const heard = await ask(realModel("anthropic", double), "generate", {
    maxOutputTokens: 100,
    providerOptions,
  });
  expect(asked[0]?.maxOutputTokens).toBe(1_124);
  expect(heard.usage?.outputTokens.total).toBe(1_050);
});

test("Anthropic's messages need a limit, and the library always sends one", async () => {
  const asked: ProviderRequest[] = [];
  const double = await openDouble({ script: (request) => (asked.push(request), {}) });
  await ask(realModel("anthropic", double), "generate");
  expect(asked[0]?.maxOutputTokens).toBeGreaterThan(0);
  const response = await fetch(`${double.baseURL}/messages`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: "max_tokens: Field required" } });
});

test.each(["chat/completions", "responses", "messages"])(
  "an invalid request to %s is refused",
  async (path) => {
    const double = await openDouble();
    for (const body of ["", "nonsense", "[]", "{}", '{"messages":"x","input":7}']) {
      const response = await fetch(`${double.baseURL}/${path}`, { method: "POST", body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
    }
    expect(double.bill.total()).toMatchObject({ requests: 5, billed: 0, inputTokens: 0 });
  },
);

test("each protocol is served at its own path only", async () => {
  const double = await openDouble();
  expect((await fetch(`${double.baseURL}/models`)).status).toBe(404);
  expect((await fetch(`${double.baseURL}/messages`)).status).toBe(404);
  expect(double.bill.entries).toEqual([]);
});

test.each(["chat", "responses", "anthropic"] as const)(
  "%s counts a picture, and no tool twice",
  async (name) => {
    const double = await openDouble({ hiddenTokensPerMessage: 0, script: answers(["Nice."]) });
    const picture = { type: "data", data: new Uint8Array([137, 80, 78, 71]) } as const;
    await ask(realModel(name, double), "generate", {
      prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: picture }] }],
    });
    expect(double.bill.entries).toMatchObject([{ inputTokens: 1_000, hiddenTokens: 0 }]);
  },
);

async function resultsOf(name: "chat" | "anthropic"): Promise<readonly unknown[] | undefined> {
  const asked: ProviderRequest[] = [];
  const double = await openDouble({ script: (request) => (asked.push(request), { text: "Pity." }) });
  const call = { toolCallId: "c1", toolName: "look" };
  await ask(realModel(name, double), "generate", {
    tools: [look],
    prompt: [
      ...user("Look."),
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { question: "pump" } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", ...call, output: { type: "error-text", value: "no pump" } }],
      },
    ],
  });
  return asked[0]?.messages.at(-1)?.parts;
}
