import { isJsonObject, Json, type JsonObject } from "#kernel";
import { limitOptions, optionCost, readUsage, type AiSdkModel } from "#models";
import type { Governor, GovernedGrant } from "./governor.ts";
import { isCut, settleAtEnd } from "./settle-at-end.ts";
import type { SpendAccount } from "./spend-account.ts";
import { wireMessage, wireTool } from "./wire-prompt.ts";

/** The cost-related options that V3 and V4 have in common. */
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

/** Returns the same model, with a reservation before each call. */
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
        doGenerate: (options) =>
          generate({ governor, model, ask: (given) => model.doGenerate(given) }, options),
        doStream: (options) => stream({ governor, model, ask: (given) => model.doStream(given) }, options),
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
        doGenerate: (options) =>
          generate({ governor, model, ask: (given) => model.doGenerate(given) }, options),
        doStream: (options) => stream({ governor, model, ask: (given) => model.doStream(given) }, options),
      };
  }
}

interface GovernedCall<Options, Answer> {
  readonly governor: Governor;
  readonly model: AiSdkModel;
  /** Calls the model itself. */
  readonly ask: (options: Options) => PromiseLike<Answer>;
}

async function generate<
  Options extends CallOptions,
  Answer extends { content: { type: string }[]; finishReason: unknown; usage: unknown },
>({ governor, model, ask }: GovernedCall<Options, Answer>, options: Options): Promise<Answer> {
  const granted = beginModelCall(governor, model, options);
  try {
    const answer = await ask(limitOutput(options, granted));
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
>({ governor, model, ask }: GovernedCall<Options, Answer>, options: Options): Promise<Answer> {
  const granted = beginModelCall(governor, model, options);
  try {
    const answer = await ask(limitOutput(options, granted));
    return { ...answer, stream: settleAtEnd(answer.stream, granted, options.abortSignal) };
  } catch (error) {
    granted.fail(error);
    throw error;
  }
}

function beginModelCall(
  governor: Governor,
  { provider, modelId }: AiSdkModel,
  options: CallOptions,
): GovernedGrant {
  options.abortSignal?.throwIfAborted();
  const { prompt, tools = [], toolChoice, responseFormat, maxOutputTokens } = options;
  const own = jsonOf(options.providerOptions);
  const described = responseFormat?.type === "json" ? [...tools, responseFormat] : tools;
  return governor.begin({
    prompt: {
      model: { id: modelId, provider },
      setting: JSON.stringify([provider, modelId, own, toolChoice]),
      messages: prompt.map(wireMessage),
      tools: described.map(wireTool),
      isOpenEnded: tools.some(({ type }) => type !== "function") || addsThinking(provider, options),
    },
    outputTokens: maxOutputTokens,
    options: optionCost(own, governor.allowOptions),
    allowance: "govern(model, ",
  });
}

/** The same call, saying no more than is paid for. */
function limitOutput<Options extends CallOptions>(
  options: Options,
  { outputTokens }: GovernedGrant,
): Options {
  if (outputTokens === undefined) return options;
  const own = jsonOf(options.providerOptions);
  if (options.providerOptions === undefined) return { ...options, maxOutputTokens: outputTokens };
  const limits = limitOptions(own, outputTokens);
  return { ...options, maxOutputTokens: limits.maxOutputTokens, providerOptions: limits.options };
}

/** Some providers turn the reasoning level into thinking tokens on top of the limit, an unknown number. */
function addsThinking(provider: string, { reasoning = "none" }: CallOptions): boolean {
  return /anthropic|bedrock/.test(provider) && reasoning !== "none" && reasoning !== "provider-default";
}

function jsonOf(options: object | undefined): JsonObject {
  const json = Json.of(options ?? {});
  return isJsonObject(json) ? json : {};
}
