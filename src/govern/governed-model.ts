import { isJsonObject, Json, type JsonObject } from "#kernel";
import { readUsage, thinkingTokens, wireField, withinCeiling, type AiSdkModel } from "#models";
import type { Governor, Granted } from "./governor.ts";
import { isCut, settling } from "./settling.ts";
import type { SpendAccount } from "./spend-account.ts";
import { wireMessage, wireTool } from "./wire-prompt.ts";

/** What the options of V3 and V4 have in common, as far as it costs money. */
interface CallOptions {
  readonly prompt: readonly unknown[];
  maxOutputTokens?: number;
  readonly tools?: readonly { readonly type: string }[];
  readonly toolChoice?: object;
  readonly responseFormat?: { readonly type: string };
  readonly reasoning?: string;
  readonly abortSignal?: AbortSignal;
  providerOptions?: object;
}

/** A model and the account it is booked on. */
export type Governed<Model extends AiSdkModel = AiSdkModel> = Model & { readonly account: SpendAccount };

/** Provider options that bring in what is not in the prompt, or another model. */
const openEnded = ["previousResponseId", "conversation", "fallbacks", "mcpServers", "container"] as const;

/** The same model, each of its calls paid for before it is made. */
export function governedModel(model: AiSdkModel, governor: Governor): Governed {
  const { provider, modelId } = model;
  switch (model.specificationVersion) {
    case "v3":
      return {
        specificationVersion: "v3",
        provider,
        modelId,
        account: governor.account,
        get supportedUrls() {
          return model.supportedUrls;
        },
        doGenerate: (options) => generate(governor, model, options, (given) => model.doGenerate(given)),
        doStream: (options) => stream(governor, model, options, (given) => model.doStream(given)),
      };
    case "v4":
      return {
        specificationVersion: "v4",
        provider,
        modelId,
        account: governor.account,
        get supportedUrls() {
          return model.supportedUrls;
        },
        doGenerate: (options) => generate(governor, model, options, (given) => model.doGenerate(given)),
        doStream: (options) => stream(governor, model, options, (given) => model.doStream(given)),
      };
  }
}

async function generate<
  Options extends CallOptions,
  Answer extends { content: { type: string }[]; finishReason: unknown; usage: unknown },
>(
  governor: Governor,
  model: AiSdkModel,
  options: Options,
  ask: (options: Options) => PromiseLike<Answer>,
): Promise<Answer> {
  const granted = begin(governor, model, options);
  try {
    const answer = await ask(limited(options, granted));
    granted.settle(readUsage(answer.usage));
    if (!isCut(granted, answer)) return answer;
    return { ...answer, content: answer.content.filter(({ type }) => type !== "tool-call") };
  } catch (error) {
    granted.fail(error);
    throw error;
  }
}

async function stream<
  Options extends CallOptions,
  Part extends { type: string },
  Answer extends { stream: ReadableStream<Part> },
>(
  governor: Governor,
  model: AiSdkModel,
  options: Options,
  ask: (options: Options) => PromiseLike<Answer>,
): Promise<Answer> {
  const granted = begin(governor, model, options);
  try {
    const answer = await ask(limited(options, granted));
    return { ...answer, stream: settling(answer.stream, granted, options.abortSignal) };
  } catch (error) {
    granted.fail(error);
    throw error;
  }
}

function begin(governor: Governor, { provider, modelId }: AiSdkModel, options: CallOptions): Granted {
  options.abortSignal?.throwIfAborted();
  const { prompt, tools = [], toolChoice, responseFormat, maxOutputTokens } = options;
  const own = jsonOf(options.providerOptions);
  const described = responseFormat?.type === "json" ? [...tools, responseFormat] : tools;
  return governor.begin({
    model: { id: modelId, provider },
    prompt: {
      setting: JSON.stringify([modelId, own, toolChoice]),
      messages: prompt.map(wireMessage),
      tools: described.map(wireTool),
      isOpenEnded: isOpenEnded(own, options) || addsThinking(provider, options),
    },
    outputTokens: maxOutputTokens,
    extraOutputTokens: thinkingTokens(own),
  });
}

/** The same call, saying no more than is paid for. */
function limited<Options extends CallOptions>(options: Options, { outputTokens }: Granted): Options {
  if (outputTokens === undefined) return options;
  const own = jsonOf(options.providerOptions);
  if (thinkingTokens(own) === 0) return { ...options, maxOutputTokens: outputTokens };
  const within = withinCeiling(own, outputTokens);
  return { ...options, maxOutputTokens: within.maxOutputTokens, providerOptions: within.options };
}

function isOpenEnded(own: JsonObject, { tools = [] }: CallOptions): boolean {
  return tools.some(({ type }) => type !== "function") || Object.values(own).some(bringsMore);
}

function bringsMore(options: unknown): boolean {
  return openEnded.some((name) => wireField(options, name) !== undefined);
}

/** Where the word for how much to think becomes tokens on top of those allowed, nobody outside knows how many. */
function addsThinking(provider: string, { reasoning = "none" }: CallOptions): boolean {
  return /anthropic|bedrock/.test(provider) && reasoning !== "none" && reasoning !== "provider-default";
}

function jsonOf(options: object | undefined): JsonObject {
  const json = Json.of(options ?? {});
  return isJsonObject(json) ? json : {};
}
