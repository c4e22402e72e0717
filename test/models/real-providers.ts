import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatMessage, type Model, type ModelDelta, type ModelRequest, type ModelResponse } from "#kernel";
import { languageModel } from "#models";

/** The wire formats we speak through real packages. */
export const wires = ["openai chat", "openai responses", "anthropic", "openai-compatible"] as const;

export type Wire = (typeof wires)[number];

/** A real provider's model that calls our server. */
export function realModel(wire: Wire, baseURL: string): Model {
  const settings = { baseURL, apiKey: "test-key" };
  switch (wire) {
    case "openai chat":
      return languageModel(createOpenAI(settings).chat("gpt-4o"));
    case "openai responses":
      return languageModel(createOpenAI(settings).responses("gpt-5"));
    case "anthropic":
      return languageModel(createAnthropic(settings)("claude-sonnet-4-5"));
    case "openai-compatible":
      return languageModel(createOpenAICompatible({ ...settings, name: "local" })("some-model"));
  }
}

export const hello: ModelRequest = {
  messages: [ChatMessage.user("hello")],
  tools: [],
  maxOutputTokens: 64,
};

/** The ways to request an answer: whole, or streamed. */
export const ways = ["whole", "streamed"] as const;

export type Way = (typeof ways)[number];

export function ask(
  model: Model,
  way: Way,
  options: {
    readonly request?: ModelRequest;
    readonly signal?: AbortSignal;
    readonly onDelta?: (delta: ModelDelta) => void;
  } = {},
): Promise<ModelResponse> {
  const { request = hello, signal = new AbortController().signal, onDelta = () => {} } = options;
  return model.generate(request, way === "streamed" ? { signal, onDelta } : { signal });
}
