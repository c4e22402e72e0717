import { createAnthropic } from "@ai-sdk/anthropic";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { languageModel, type LanguageModelOptions } from "#models";
import { ChatMessage, type ContentBlock, type ModelRequest } from "#kernel";
import { expect, test } from "vitest";
import { fakeV3, fakeV4 } from "./fake-models.ts";
import { ask, hello } from "./real-providers.ts";

const result: ContentBlock = {
  type: "tool-result",
  callId: "c",
  name: "search",
  content: [{ type: "text", text: "found" }],
  isError: false,
};

const messages: readonly ChatMessage[] = [
  ChatMessage.system("Be brief."),
  ChatMessage.user("one"),
  { role: "assistant", content: [{ type: "text", text: "1" }] },
  ChatMessage.user("two"),
  { role: "tool", content: [result, { ...result, callId: "d" }] },
  ChatMessage.user("the open page"),
];

const stable = [1, 3, 5];

async function sendRequest(
  name: Partial<Pick<LanguageModelV4, "modelId" | "provider">>,
  request: Partial<ModelRequest> = {},
  options: LanguageModelOptions = {},
) {
  const { model, calls } = fakeV4([{ type: "text", text: "ok" }]);
  const wrapped = languageModel({ ...model, ...name }, options);
  await ask(wrapped, "whole", { request: { ...hello, messages, stable, cacheKey: "talk", ...request } });
  return calls[0];
}

const claude = { modelId: "claude-sonnet-4-5", provider: "anthropic.messages" };

/** The marks by message, with the part where it is not the whole message that has it. */
async function marksOf(...given: Parameters<typeof sendRequest>): Promise<readonly unknown[]> {
  const { prompt = [] } = (await sendRequest(...given)) ?? {};
  return prompt.map(({ providerOptions, content }) =>
    typeof content === "string" || providerOptions
      ? (providerOptions ?? null)
      : (content.findLast((part) => part.providerOptions)?.providerOptions ?? null),
  );
}

const keyOf = async (...given: Parameters<typeof sendRequest>) =>
  (await sendRequest(...given))?.providerOptions?.["openai"]?.["promptCacheKey"];

const toolsOf = async (tools: ModelRequest["tools"]) =>
  (await sendRequest(claude, { tools }))?.tools?.map(({ name }) => name);

const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };
const hour = { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } };
const point = { bedrock: { cachePoint: { type: "default" } } };

test.for([
  [claude, mark],
  [{ modelId: "claude-sonnet-4-5@20250929", provider: "vertex.anthropic.messages" }, mark],
  [{ modelId: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", provider: "bedrock.anthropic.messages" }, mark],
  [{ modelId: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", provider: "amazon-bedrock" }, point],
  [{ modelId: "anthropic/claude-opus-4.5", provider: "openrouter.chat" }, mark],
] as const)("the stable beginnings of a prompt are marked for %j", async ([name, expected]) => {
  expect(await marksOf(name)).toEqual([expected, null, expected, null, expected, null]);
});

test.for([
  { modelId: "gpt-5", provider: "openai.responses" },
  { modelId: "openai/gpt-5", provider: "openrouter.chat" },
  { modelId: "amazon.nova-pro-v1:0", provider: "amazon-bedrock" },
  { modelId: "claude-like", provider: "acme.chat" },
])("nothing is marked for %j", async (name) => {
  expect(await marksOf(name)).toEqual(Array(6).fill(null));
});

test("a tool message has one mark, at its last result", async () => {
  const tool = (await sendRequest(claude))?.prompt[4];
  expect(tool).not.toHaveProperty("providerOptions");
  expect(tool?.content).toMatchObject([{}, { providerOptions: mark }]);
  expect(tool?.content[0]).not.toHaveProperty("providerOptions");
});

test("an hour is requested if the model sets it, and nothing if it is off", async () => {
  expect(await marksOf(claude, {}, { promptCache: "1h" })).toContainEqual(hour);
  expect(await marksOf(claude, {}, { promptCache: "off" })).toEqual(Array(6).fill(null));
  expect(await marksOf(claude, { stable: [] })).toEqual(Array(6).fill(null));
});

test("no more than four marks are set, the last ones, and none beside marks of the caller", async () => {
  const expected = [null, mark, mark, mark, mark, null];
  expect(await marksOf(claude, { stable: [1, 2, 3, 4, 5] })).toEqual(expected);
  const own = { role: "user", content: [{ type: "text", text: "mine", providerData: mark }] } as const;
  expect(await marksOf(claude, { messages: [own, ...messages.slice(1)] })).toEqual([
    mark,
    ...Array(5).fill(null),
  ]);
  const options = { providerOptions: mark };
  expect(await marksOf(claude, {}, options)).toEqual(Array(6).fill(null));
});

test("the mark of an empty message goes to the message before it", async () => {
  const silent = [...messages.slice(0, 2), ChatMessage.user(""), ChatMessage.user("three")];
  expect(await marksOf(claude, { messages: silent, stable: [3, 4] })).toEqual([null, mark, mark]);
});

test("marking a message does not change it for calls without marks", async () => {
  expect(await marksOf(claude)).toEqual([mark, null, mark, null, mark, null]);
  expect(await marksOf(claude, { stable: [2] })).toEqual([null, mark, null, null, null, null]);
});

test("prompts of models of specification v3 are also marked", async () => {
  const { model, calls } = fakeV3([{ type: "text", text: "ok" }]);
  await ask(languageModel({ ...model, ...claude }), "whole", { request: { ...hello, messages, stable } });
  expect(calls[0]?.prompt.map(({ providerOptions = null }) => providerOptions)).toEqual([
    mark,
    null,
    mark,
    null,
    null,
    null,
  ]);
});

test("OpenAI gets the cache key of a conversation, unless the caller sets one or none", async () => {
  const gpt = { modelId: "gpt-4o", provider: "openai.chat" };
  expect(await keyOf(gpt)).toBe("talk");
  expect(await keyOf({ ...gpt, provider: "azure.chat" })).toBe("talk");
  expect(await keyOf(gpt, {}, { providerOptions: { openai: { promptCacheKey: "mine" } } })).toBe("mine");
  expect(await keyOf(gpt, {}, { promptCache: "off" })).toBeUndefined();
  expect(await keyOf(claude)).toBeUndefined();
  expect(await keyOf({ ...gpt, provider: "openai-compatible.chat" })).toBeUndefined();
});

test("tools are sent in one order, however they are listed", async () => {
  const [search, fetch] = ["search", "fetch"].map((name) => ({ name, description: name, inputSchema: {} }));
  if (!search || !fetch) throw new Error("no tools");
  expect(await toolsOf([search, fetch])).toEqual(["fetch", "search"]);
  expect(await toolsOf([fetch, search])).toEqual(["fetch", "search"]);
});

test("the price of a cache write is reserved where marks are set, and nowhere else", () => {
  const model = createAnthropic({ apiKey: "k" })("claude-sonnet-5");
  const writes = (options: LanguageModelOptions) => languageModel(model, options).price?.cacheWrite;
  expect(writes({})).toBe(2_500_000);
  expect(writes({ promptCache: "1h" })).toBe(4_000_000);
  expect(writes({ promptCache: "off" })).toBeUndefined();
  expect(writes({ promptCache: "off", providerOptions: hour })).toBe(4_000_000);
  const price = { input: 2, output: 3 };
  expect(writes({ price })).toBeUndefined();
  expect(writes({ price: { ...price, cacheWrite: 4 } })).toBe(4);
  expect(() => writes({ price, promptCache: "5m" })).toThrow("needs a price with cacheWrite");
});

test("a price without cache writes sets no marks", async () => {
  const price = { input: 2, output: 3 };
  expect(await marksOf(claude, {}, { price })).toEqual(Array(6).fill(null));
  expect(await marksOf(claude, {}, { price: { ...price, cacheWrite: 4 } })).toContainEqual(mark);
});
