import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import {
  Price,
  ReeveError,
  type JsonObject,
  type Model,
  type ModelCall,
  type ModelRequest,
  type ModelResponse,
  type ModelSettings,
} from "#kernel";
import { rejectOnAbort } from "#base";
import { AnswerBuilder, type WirePart } from "./answer-builder.ts";
import { callSettings, mergeOptions, type CallDefaults } from "./call-settings.ts";
import { classifyError } from "./classify-error.ts";
import { modelFacts, type ModelName } from "./model-facts.ts";
import { promptV3, promptV4, type CacheMarks } from "./prompt.ts";
import { cacheMark, cacheWrites, takesCacheKey, type PromptCache } from "./prompt-cache.ts";
import { readStream, requireWhole } from "./read-stream.ts";
import { structuredOutputOf, type StructuredOutput } from "./response-format.ts";

/** A language model of the AI SDK. */
export type AiSdkModel = LanguageModelV3 | LanguageModelV4;

/** All types accepted as an agent's model. */
export type AnyModel = AiSdkModel | Model;

/** Facts about an AI SDK model that the object itself does not have. */
export interface LanguageModelOptions {
  /** Default: from the price list. An unlisted model has none. */
  readonly price?: Price | undefined;
  /** Default: from the price list. */
  readonly contextWindow?: number | undefined;
  /** Maximum output tokens of one call. Default: unknown; 4,096 are requested. */
  readonly maxOutputTokens?: number | undefined;
  /** Maximum tokens of one file in a prompt. Default: by the provider's rule, if known. */
  readonly maxFileTokens?: number | undefined;
  /** Temperature, reasoning and other settings for every call. An agent's settings override them. Default: none. */
  readonly settings?: ModelSettings | undefined;
  /**
   * The way the model receives the schema of an agent's output: in a request field, or in the prompt. Default: native for
   * OpenAI, Anthropic and packages that declare support.
   */
  readonly structuredOutput?: StructuredOutput | undefined;
  /**
   * Retention of the stable prefix of a conversation's prompts in the provider's cache. For Claude (at Anthropic,
   * Bedrock, Vertex and OpenRouter) the runtime marks the prefix, and input is reserved at the price of a cache write.
   * OpenAI receives a key of the conversation, unless `off`. Default: `5m` for Claude, unless its price has no
   * `cacheWrite`.
   */
  readonly promptCache?: PromptCache | undefined;
  /**
   * Provider-specific options for every call, by provider. Set `cacheControl` here, not in a single call: cache writes
   * cost more, and the price must include that.
   */
  readonly providerOptions?: JsonObject | undefined;
  /**
   * Options that may be sent under a limit although their cost is unknown, as `provider.option`: the limit is not hard
   * for what they add. Default: none.
   */
  readonly allowOptions?: readonly string[] | undefined;
}

/**
 * Returns any model in the form that runs use. Accepts the AI SDK's V3 and V4 objects; a native model is returned
 * unchanged. The model's own retries are off. OpenAI's Responses API stores every conversation by default; this is
 * turned off.
 */
export function languageModel(model: AnyModel, options: LanguageModelOptions = {}): Model {
  if (!isObject(model)) throw new TypeError(bareName(model));
  if (!("specificationVersion" in model)) return ownModel(model, options);
  const version: string = model.specificationVersion;
  if (version !== "v3" && version !== "v4") throw new TypeError(otherVersion(version));
  const { modelId: id, provider } = model;
  const defaults = mergeOptions(statelessOptions(provider), options.providerOptions ?? {});
  const cache = cachePlan({ id, provider }, options, cacheWrites(defaults));
  const ask = toCallOptions(model, { settings: options.settings ?? {}, options: defaults, cache });
  const { contextWindow } = modelFacts({ id, provider });
  return Object.freeze({
    id,
    provider,
    price: cache.price,
    contextWindow: options.contextWindow ?? contextWindow ?? undefined,
    maxOutputTokens: options.maxOutputTokens,
    maxFileTokens: options.maxFileTokens,
    structuredOutput: options.structuredOutput ?? structuredOutputOf(model),
    options: defaults,
    allowOptions: options.allowOptions,
    generate: (request: ModelRequest, call: ModelCall) => generate(ask(request, call), call),
  });
}

/** One call, prepared for both ways of making it. */
interface CallInput {
  generate(): PromiseLike<{ readonly content: readonly WirePart[] }>;
  stream(): PromiseLike<{ readonly stream: ReadableStream<WirePart> }>;
}

/** An abort is answered with the reason given for it, never with an error about it. */
async function generate(asking: CallInput, call: ModelCall): Promise<ModelResponse> {
  const answer = new AnswerBuilder();
  try {
    call.signal.throwIfAborted();
    if (call.onDelta) {
      const { stream } = await rejectOnAbort(asking.stream(), call.signal);
      return await readStream(stream, answer, call);
    }
    const { content, ...ending } = await rejectOnAbort(asking.generate(), call.signal);
    for (const part of content) answer.add(part);
    answer.add({ ...ending, type: "finish" });
    return requireWhole(answer.build());
  } catch (error) {
    call.signal.throwIfAborted();
    throw ReeveError.is(error) ? error : classifyError(error);
  }
}

function toCallOptions(
  model: AiSdkModel,
  { cache, ...defaults }: CallDefaults & { readonly cache: CachePlan },
): (request: ModelRequest, call: ModelCall) => CallInput {
  return (request, { signal }) => {
    const { messages, stable, cacheKey } = request;
    const key = cacheKey && cache.hasKey ? { openai: { promptCacheKey: cacheKey } } : {};
    const merged = { ...defaults, options: mergeOptions(key, defaults.options) };
    const common = { ...callSettings(model, request, merged), abortSignal: signal };
    const marks: CacheMarks | null = cache.mark && stable ? { mark: cache.mark, stable } : null;
    switch (model.specificationVersion) {
      case "v3": {
        const options = () => ({ ...common, prompt: promptV3(messages, marks) });
        return { generate: () => model.doGenerate(options()), stream: () => model.doStream(options()) };
      }
      case "v4": {
        const options = () => ({ ...common, prompt: promptV4(messages, marks) });
        return { generate: () => model.doGenerate(options()), stream: () => model.doStream(options()) };
      }
    }
  };
}

function statelessOptions(provider: string): JsonObject {
  return provider.endsWith(".responses") ? { openai: { store: false } } : {};
}

/** The caching of a model's prompts, and its price. */
interface CachePlan {
  /** Null: nothing is marked. */
  readonly mark: CacheMarks["mark"] | null;
  readonly hasKey: boolean;
  readonly price: Price | undefined;
}

/** Nothing is marked if the price of a cache write is unknown, because it exceeds that of input. */
function cachePlan(
  name: ModelName,
  { promptCache, price: stated }: LanguageModelOptions,
  own: "5m" | "1h" | undefined,
): CachePlan {
  const hasKey = promptCache !== "off" && takesCacheKey(name.provider ?? "");
  const ttl = promptCache ?? (own ? "off" : "5m");
  const mark = ttl === "off" ? null : cacheMark(name, ttl);
  const key = Price.key(name);
  const priceFor = (writes: "5m" | "1h" | undefined): Price | undefined =>
    stated ? Price.check(stated, key) : (modelFacts(name, { cacheWrites: writes }).price ?? undefined);
  const price = priceFor(mark && ttl !== "off" && own !== "1h" ? ttl : own);
  if (!mark || !price || price.cacheWrite !== undefined) return { mark, hasKey, price };
  if (promptCache === undefined) return { mark: null, hasKey, price: priceFor(own) };
  throw new TypeError(
    `promptCache of ${key} needs a price with cacheWrite: languageModel(model, { price: { ..., cacheWrite: <micro-dollars for a million tokens> } }), or promptCache: "off"`,
  );
}

function isObject(model: unknown): model is object {
  return (typeof model === "object" && model !== null) || typeof model === "function";
}

function ownModel(model: Model, options: LanguageModelOptions): Model {
  if (typeof model.id !== "string" || typeof model.generate !== "function")
    throw new TypeError("not a language model: give an AI SDK model, or an object with an id and generate()");
  if (Object.keys(options).length > 0)
    throw new TypeError(
      `${model.id} defines its own price and limits: these options are only for AI SDK models`,
    );
  if (model.price) Price.check(model.price, Price.key(model));
  return model;
}

const bareName = (model: unknown): string =>
  `model must be an object, got ${JSON.stringify(model)}: a bare name would use a hosted gateway; pass for example openai("gpt-5")`;

const otherVersion = (version: string): string =>
  `language models of specification ${version} are not supported: upgrade the provider's package, ` +
  `or wrap the model with wrapLanguageModel of the ai package`;
