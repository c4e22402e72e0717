import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { onTestFinished } from "vitest";
import {
  fakeProvider,
  type FakeProvider,
  type FakeProviderOptions,
} from "../../src/testing/fake-provider/index.ts";

/** The libraries that a user would point at a real provider. */
export const providers = ["chat", "responses", "anthropic", "compatible"] as const;

export type ProviderName = (typeof providers)[number];

/** A model of the real library, pointed at a double. */
export function realModel(name: ProviderName, double: FakeProvider, id = "double-1"): LanguageModelV4 {
  const settings = { baseURL: double.baseURL, apiKey: "secret" };
  switch (name) {
    case "chat":
      return createOpenAI(settings).chat(id);
    case "responses":
      return createOpenAI(settings).responses(id);
    case "anthropic":
      return createAnthropic(settings)(id);
    case "compatible":
      return createOpenAICompatible({ ...settings, name: "compatible", includeUsage: true })(id);
  }
}

/** A double that is closed after the test. */
export async function openDouble(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const double = await fakeProvider(options);
  onTestFinished(() => double.close());
  return double;
}

/** A model's answer, in one form whether streamed or not. */
export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  readonly finishReason: LanguageModelV4FinishReason["unified"] | null;
  readonly usage: LanguageModelV4Usage | null;
  /** Errors that came as a part of the stream. */
  readonly errors: readonly unknown[];
}

export type Mode = "generate" | "stream";

/** Every library in every mode. */
export const everyWay: readonly { readonly name: ProviderName; readonly mode: Mode }[] = providers.flatMap(
  (name) => [
    { name, mode: "generate" },
    { name, mode: "stream" },
  ],
);

/** Every library in every mode with each of some values. */
export function everyWayWith<Value>(
  values: readonly Value[],
): readonly { readonly name: ProviderName; readonly mode: Mode; readonly value: Value }[] {
  return everyWay.flatMap(({ name, mode }) => values.map((value) => ({ name, mode, value })));
}

/** Calls a model. All options that are not given are minimal. */
export async function ask(
  model: LanguageModelV4,
  mode: Mode,
  options: Partial<LanguageModelV4CallOptions> = {},
): Promise<Heard> {
  const call: LanguageModelV4CallOptions = { prompt: user("Where is the pump?"), ...options };
  if (mode === "stream") return hear(await parts(model, call));
  const { content, finishReason, usage } = await model.doGenerate(call);
  return {
    text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    reasoning: content.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    calls: content.flatMap((part) =>
      part.type === "tool-call" ? [{ id: part.toolCallId, name: part.toolName, input: part.input }] : [],
    ),
    finishReason: finishReason.unified,
    usage,
    errors: [],
  };
}

/** All parts of a stream. */
export async function parts(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<readonly LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(options);
  const list: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) list.push(part);
  return list;
}

/** Returns the error of a promise. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`succeeded with ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  );
}

/** A prompt of one user message. */
export function user(text: string): LanguageModelV4CallOptions["prompt"] {
  return [{ role: "user", content: [{ type: "text", text }] }];
}

/** Headers that identify the caller to the fake provider. */
export function headers(run: string, attempt: string): Record<string, string> {
  return { "x-reeve-run": run, "x-reeve-attempt": attempt };
}

/** A tool to look things up with. */
export const look = {
  type: "function",
  name: "look",
  description: "Looks something up",
  inputSchema: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
} as const satisfies NonNullable<LanguageModelV4CallOptions["tools"]>[number];

function hear(list: readonly LanguageModelV4StreamPart[]): Heard {
  const finish = list.find((part) => part.type === "finish");
  return {
    text: list.map((part) => (part.type === "text-delta" ? part.delta : "")).join(""),
    reasoning: list.map((part) => (part.type === "reasoning-delta" ? part.delta : "")).join(""),
    calls: list.flatMap((part) =>
      part.type === "tool-call" ? [{ id: part.toolCallId, name: part.toolName, input: part.input }] : [],
    ),
    finishReason: finish?.finishReason.unified ?? null,
    usage: finish?.usage ?? null,
    errors: list.flatMap((part) => (part.type === "error" ? [part.error] : [])),
  };
}
