import type { Json } from "#kernel";
import type { Chance } from "./chance.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import type { ProviderMessage, ProviderPart, ProviderRequest, Wire } from "./provider-request.ts";
import type { Fault } from "./fault.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { countTokens, cutText } from "./tokenizer.ts";

/** A tool call as sent. Its arguments may be cut off or invalid JSON. */
export interface ExecutedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

/** The usage of a call as counted by the fake provider. */
interface DoubleUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly reasoningTokens: number;
  readonly hiddenTokens: number;
}

/** The reported usage: the real one, unless a fault changes it. */
interface ReportedUsage {
  readonly input: Json;
  /** `input` without the cached and the written tokens. */
  readonly uncached: Json;
  readonly cached: Json;
  /** Written to the prompt cache. */
  readonly written: Json;
  readonly output: Json;
  readonly reasoning: Json;
  readonly total: Json;
}

/** A processed request: the answer and its usage. */
export interface Execution {
  /** Part of every id in the answer. */
  readonly id: string;
  /** Seconds, as providers count. */
  readonly created: number;
  readonly request: ProviderRequest;
  readonly reasoning: string;
  readonly text: string;
  readonly toolCalls: readonly ExecutedCall[];
  readonly finishReason: "stop" | "tool-calls" | "length" | "content-filter";
  readonly usage: DoubleUsage;
  /** Null if usage is not reported. */
  readonly reported: ReportedUsage | null;
}

/** Settings of an execution apart from request and answer. */
export interface ExecutionSettings {
  readonly chance: Chance;
  readonly now: number;
  /** At most so many tokens are put around each message. */
  readonly hiddenTokensPerMessage: number;
  /** At most so many tokens are put before a prompt with tools. Default: {@link toolPromptTokens}. */
  readonly toolPromptTokens: number | undefined;
  readonly cache: PromptCache | null;
}

/** Tokens that providers add about tools in general: Anthropic documents up to 530 tokens, OpenAI none. */
const toolPromptTokens: Readonly<Record<Wire, number>> = {
  "openai-chat": 0,
  "openai-responses": 0,
  "anthropic-messages": 530,
};

/** Tokens of a picture or file. */
const tokensPerAttachment = 1_000;

/** Works a request out. */
export function execute(
  request: ProviderRequest,
  { answer, fault, settings }: { answer: ProviderAnswer; fault: Fault | null; settings: ExecutionSettings },
): Execution {
  const id = settings.chance.word(24);
  const input = countInput(request, settings, answer);
  const output = speak(request, answer, id);
  const filtered = fault?.kind === "content-filter";
  const usage = { ...input, outputTokens: output.tokens, reasoningTokens: output.reasoningTokens };
  return {
    id,
    created: Math.floor(settings.now / 1_000),
    request,
    reasoning: output.reasoning,
    text: output.text,
    toolCalls: filtered
      ? []
      : fault?.kind === "malformed-arguments"
        ? output.calls.map(breakArguments)
        : output.calls,
    finishReason: filtered ? "content-filter" : output.finishReason,
    usage,
    reported: report(usage, fault),
  };
}

/** Counts the tokens of a prompt without the additions of the fake provider. */
export function countPrompt(request: ProviderRequest): number {
  return countHead(request) + request.messages.reduce((sum, message) => sum + countMessage(message), 0);
}

function countInput(
  request: ProviderRequest,
  settings: ExecutionSettings,
  answer: ProviderAnswer,
): Omit<DoubleUsage, "outputTokens" | "reasoningTokens"> {
  const { chance, cache, hiddenTokensPerMessage } = settings;
  const toolPrompt = settings.toolPromptTokens ?? toolPromptTokens[request.wire];
  const messages = request.messages.length + (request.system === "" ? 0 : 1);
  let hiddenTokens = request.tools.length > 0 ? chance.integer(0, toolPrompt) : 0;
  for (let message = 0; message < messages; message += 1) {
    hiddenTokens += chance.integer(0, hiddenTokensPerMessage);
  }
  const inputTokens = countPrompt(request) + hiddenTokens;
  const found = cache?.take(request, countHead(request), countPart) ?? { cachedTokens: 0, writtenTokens: 0 };
  const cachedTokens = Math.min(answer.cachedTokens ?? found.cachedTokens, inputTokens);
  const writtenTokens = Math.min(found.writtenTokens, inputTokens - cachedTokens);
  return { inputTokens, hiddenTokens, cachedTokens, writtenTokens };
}

function countHead({ system, tools, outputSchema }: ProviderRequest): number {
  return tools.reduce(
    (sum, { name, description, inputSchema }) =>
      sum + countTokens(name) + countTokens(description) + countTokens(JSON.stringify(inputSchema)),
    countTokens(system) + (outputSchema === null ? 0 : countTokens(JSON.stringify(outputSchema))),
  );
}

function countMessage(message: ProviderMessage): number {
  return message.parts.reduce((sum, part) => sum + countPart(part), 0);
}

function countPart(part: ProviderPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "tool-result":
      return countTokens(part.text);
    case "tool-call":
      return countTokens(part.name) + countTokens(JSON.stringify(part.input));
    case "other":
      return tokensPerAttachment;
  }
}

interface Speech {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ExecutedCall[];
  readonly tokens: number;
  readonly reasoningTokens: number;
  readonly finishReason: Execution["finishReason"];
}

/** Produces an answer until the allowed tokens are used up. */
function speak({ maxOutputTokens }: ProviderRequest, answer: ProviderAnswer, id: string): Speech {
  const words = speakWithin(Number.POSITIVE_INFINITY, answer, id);
  const wanted = answer.outputTokens ?? words.tokens;
  const limit = maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const silent = Math.min(Math.max(0, wanted - words.tokens), limit);
  if (wanted <= limit) {
    return { ...words, tokens: wanted, reasoningTokens: Math.min(words.reasoningTokens + silent, wanted) };
  }
  const cut = speakWithin(limit - silent, answer, id);
  return { ...cut, tokens: limit, reasoningTokens: cut.reasoningTokens + silent, finishReason: "length" };
}

function speakWithin(budget: number, answer: ProviderAnswer, id: string): Speech {
  const reasoning = cutText(answer.reasoning ?? "", budget);
  const text = cutText(answer.text ?? "", reasoning.complete ? budget - reasoning.tokens : 0);
  let tokens = reasoning.tokens + text.tokens;
  let complete = reasoning.complete && text.complete;
  const calls: ExecutedCall[] = [];
  for (const [index, { name, input }] of (answer.toolCalls ?? []).entries()) {
    const left = complete ? budget - tokens - countTokens(name) : -1;
    if (left < 0) break;
    const cut = cutText(JSON.stringify(input), left);
    calls.push({ callId: `${id}${index}`, name, arguments: cut.text });
    tokens += countTokens(name) + cut.tokens;
    complete = cut.complete;
  }
  return {
    reasoning: reasoning.text,
    text: text.text,
    calls,
    tokens,
    reasoningTokens: reasoning.tokens,
    finishReason: answer.finishReason ?? (calls.length > 0 ? "tool-calls" : "stop"),
  };
}

/** Half of a JSON text is none. */
function breakArguments(call: ExecutedCall): ExecutedCall {
  return { ...call, arguments: call.arguments.slice(0, Math.ceil(call.arguments.length / 2)) };
}

function report(usage: DoubleUsage, fault: Fault | null): ReportedUsage | null {
  if (fault?.kind === "missing-usage") return null;
  if (fault?.kind === "absurd-usage") {
    const absurd = { negative: -1, "not-a-number": "NaN", huge: 1e15 }[fault.form ?? "negative"];
    const parts = { cached: 0, written: 0, reasoning: 0 };
    return { ...parts, input: absurd, uncached: absurd, output: absurd, total: absurd };
  }
  const { inputTokens, outputTokens, cachedTokens, writtenTokens, reasoningTokens } = usage;
  return {
    input: inputTokens,
    uncached: inputTokens - cachedTokens - writtenTokens,
    cached: cachedTokens,
    written: writtenTokens,
    output: outputTokens,
    reasoning: reasoningTokens,
    total: inputTokens + outputTokens,
  };
}
