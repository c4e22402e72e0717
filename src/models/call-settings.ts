import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isJsonObject, Json, type JsonObject, type ModelRequest, type ToolDescription } from "#kernel";

/** The least a provider lets a model think. */
const leastThinking = 1_024;

/** The fields where a package keeps a thinking budget that it adds on top of the tokens allowed. */
const thinkingFields = ["thinking", "reasoningConfig"] as const;

/** What a V3 and a V4 model are both asked with, besides the prompt. */
export type CallSettings = Pick<LanguageModelV4CallOptions, "maxOutputTokens" | "abortSignal"> & {
  readonly tools?: LanguageModelV4FunctionTool[];
  readonly providerOptions?: SharedV4ProviderOptions;
};

/** The limits, tools and options of a call. `defaults` are the model's own options; the request's go first. */
export function callSettings(
  request: ModelRequest,
  defaults: JsonObject,
  abortSignal: AbortSignal,
): CallSettings {
  const { maxOutputTokens, options } = withinCeiling(
    request.options ? merged(defaults, request.options) : defaults,
    request.maxOutputTokens,
  );
  return {
    maxOutputTokens,
    abortSignal,
    ...(request.tools.length > 0 && { tools: functionTools(request.tools) }),
    ...(Object.keys(options).length > 0 && { providerOptions: Json.as<SharedV4ProviderOptions>(options) }),
  };
}

/** Provider by provider, then field by field. */
export function merged(below: JsonObject, above: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = { ...below };
  for (const [provider, options] of Object.entries(above)) {
    const under = result[provider];
    result[provider] = isJsonObject(under) && isJsonObject(options) ? { ...under, ...options } : options;
  }
  return result;
}

/**
 * The packages for Anthropic and Bedrock send `maxOutputTokens + thinking budget` as the limit: more than there is
 * money for. The budget is therefore taken out of the tokens allowed; where it does not fit it is halved into them,
 * and where that leaves too little the model does not think.
 */
export function withinCeiling(
  options: JsonObject,
  ceiling: number,
): { readonly maxOutputTokens: number; readonly options: JsonObject } {
  for (const [provider, own] of Object.entries(options)) {
    if (!isJsonObject(own)) continue;
    for (const field of thinkingFields) {
      const thinking = own[field];
      if (!isJsonObject(thinking) || thinking["type"] !== "enabled") continue;
      const asked = typeof thinking["budgetTokens"] === "number" ? thinking["budgetTokens"] : leastThinking;
      const budget = asked < ceiling ? asked : Math.floor(ceiling / 2);
      const enough = budget >= leastThinking;
      const setting = enough ? { ...thinking, budgetTokens: budget } : { type: "disabled" };
      return {
        maxOutputTokens: enough ? ceiling - budget : ceiling,
        options: { ...options, [provider]: { ...own, [field]: setting } },
      };
    }
  }
  return { maxOutputTokens: ceiling, options };
}

/** The tokens that a package would add on top of the tokens allowed. */
export function thinkingTokens(options: JsonObject): number {
  const asked = Object.values(options).flatMap((own) =>
    thinkingFields.map((field) => (isJsonObject(own) ? own[field] : undefined)),
  );
  const thinking = asked.find((setting) => isJsonObject(setting) && setting["type"] === "enabled");
  if (!isJsonObject(thinking)) return 0;
  return typeof thinking["budgetTokens"] === "number" ? thinking["budgetTokens"] : leastThinking;
}

const converted = new WeakMap<readonly ToolDescription[], LanguageModelV4FunctionTool[]>();

function functionTools(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  const known = converted.get(tools);
  if (known) return known;
  const fresh = tools.map(({ name, description, inputSchema }) => ({
    type: "function" as const,
    name,
    description,
    inputSchema: Json.as<LanguageModelV4FunctionTool["inputSchema"]>(inputSchema),
  }));
  converted.set(tools, fresh);
  return fresh;
}
