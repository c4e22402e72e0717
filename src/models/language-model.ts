import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import {
  isJsonObject,
  ReeveError,
  type JsonObject,
  type Model,
  type ModelCall,
  type ModelRequest,
  type ModelResponse,
  type Price,
} from "#kernel";
import { AnswerBuilder, type WirePart } from "./answer-builder.ts";
import { callSettings, merged } from "./call-settings.ts";
import { classifyError } from "./classify-error.ts";
import { modelFacts } from "./model-facts.ts";
import { promptV3, promptV4 } from "./prompt.ts";
import { readStream, whole } from "./read-stream.ts";

/** A language model of the AI SDK. */
export type AiSdkModel = LanguageModelV3 | LanguageModelV4;

/** Everything that can be an agent's model. */
export type AnyModel = AiSdkModel | Model;

/** How a model samples. Reasoning is not among them: it is set in `providerOptions`, where its cost can be seen. */
export type SamplingSettings = Readonly<
  Pick<
    LanguageModelV4CallOptions,
    "temperature" | "topP" | "topK" | "stopSequences" | "presencePenalty" | "frequencyPenalty" | "seed"
  >
>;

/** What to know of an AI SDK model beyond the object. */
export interface LanguageModelOptions {
  /** Default: from the price list; a model it does not know has none. */
  readonly price?: Price | undefined;
  /** Default: from the price list. */
  readonly contextWindow?: number | undefined;
  /** The most it may say in one call. Default: unknown, 4,096 are asked for. */
  readonly maxOutputTokens?: number | undefined;
  readonly settings?: SamplingSettings | undefined;
  /**
   * What only this provider understands, by provider, for every call. A `cacheControl` belongs here and not into a
   * single call: writing to a cache costs more, and the price says so.
   */
  readonly providerOptions?: JsonObject | undefined;
}

/**
 * Any model as a run sees it. Takes the AI SDK's V3 and V4 objects; a model of our own is returned as it is.
 * Nothing is retried underneath. The Responses API of OpenAI keeps every conversation unless told otherwise: it is.
 */
export function languageModel(model: AnyModel, options: LanguageModelOptions = {}): Model {
  if (!isObject(model)) throw new TypeError(bareName(model));
  if (!("specificationVersion" in model)) return ownModel(model, options);
  const version: string = model.specificationVersion;
  if (version !== "v3" && version !== "v4") throw new TypeError(otherVersion(version));
  const { modelId: id, provider } = model;
  const defaults = merged(statelessOptions(provider), options.providerOptions ?? {});
  const facts = modelFacts({ id, provider }, { cacheWrites: cacheWrites(defaults) });
  const ask = asked(model, options.settings ?? {}, defaults);
  return Object.freeze({
    id,
    provider,
    price: options.price ?? facts.price ?? undefined,
    contextWindow: options.contextWindow ?? facts.contextWindow ?? undefined,
    maxOutputTokens: options.maxOutputTokens,
    generate: (request: ModelRequest, call: ModelCall) => generate(ask(request, call), call),
  });
}

/** One call, ready to be made either way. */
interface Asking {
  whole(): PromiseLike<{ readonly content: readonly WirePart[] }>;
  streamed(): PromiseLike<{ readonly stream: ReadableStream<WirePart> }>;
}

/** An abort is answered with the reason given for it, never with an error about it. */
async function generate(asking: Asking, call: ModelCall): Promise<ModelResponse> {
  const answer = new AnswerBuilder();
  try {
    call.signal.throwIfAborted();
    if (call.onDelta) {
      const { stream } = await unlessAborted(asking.streamed(), call.signal);
      return await readStream(stream, answer, call);
    }
    const { content, ...ending } = await unlessAborted(asking.whole(), call.signal);
    for (const part of content) answer.add(part);
    answer.add({ ...ending, type: "finish" });
    return whole(answer.build());
  } catch (error) {
    call.signal.throwIfAborted();
    throw ReeveError.is(error) ? error : classifyError(error);
  }
}

function asked(
  model: AiSdkModel,
  settings: SamplingSettings,
  defaults: JsonObject,
): (request: ModelRequest, call: ModelCall) => Asking {
  return (request, { signal }) => {
    const common = { ...settings, ...callSettings(request, defaults, signal) };
    switch (model.specificationVersion) {
      case "v3": {
        const options = () => ({ ...common, prompt: promptV3(request.messages) });
        return { whole: () => model.doGenerate(options()), streamed: () => model.doStream(options()) };
      }
      case "v4": {
        const options = () => ({ ...common, prompt: promptV4(request.messages) });
        return { whole: () => model.doGenerate(options()), streamed: () => model.doStream(options()) };
      }
    }
  };
}

/** Most providers stop at the signal; this one does so even where the provider does not. */
async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function statelessOptions(provider: string): JsonObject {
  return provider.endsWith(".responses") ? { openai: { store: false } } : {};
}

/** Which kind of cache the options turn on. */
function cacheWrites(options: JsonObject): "5m" | "1h" | undefined {
  for (const own of Object.values(options)) {
    const control = isJsonObject(own) ? own["cacheControl"] : undefined;
    if (isJsonObject(control)) return control["ttl"] === "1h" ? "1h" : "5m";
  }
  return undefined;
}

function isObject(model: unknown): model is object {
  return (typeof model === "object" && model !== null) || typeof model === "function";
}

function ownModel(model: Model, options: LanguageModelOptions): Model {
  if (typeof model.id !== "string" || typeof model.generate !== "function")
    throw new TypeError("not a language model: give an AI SDK model, or an object with an id and generate()");
  if (Object.keys(options).length > 0)
    throw new TypeError(
      `${model.id} says itself what it costs and can do: these options are for AI SDK models`,
    );
  return model;
}

const bareName = (model: unknown): string =>
  `${JSON.stringify(model)} is no model: a bare name would mean a hosted gateway; give the object, for example openai("gpt-5")`;

const otherVersion = (version: string): string =>
  `language models of specification ${version} are not supported: upgrade the provider's package, ` +
  `or wrap the model with wrapLanguageModel of the ai package`;
