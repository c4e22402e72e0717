import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  isJsonObject,
  Json,
  type JsonObject,
  type ModelRequest,
  type ModelSettings,
  type ToolChoice,
  type ToolDescription,
} from "#kernel";
import { limitOptions } from "./option-cost.ts";
import { schemaFields } from "./response-format.ts";
import { thinkingOptions } from "./thinking-options.ts";

/** The call fields that V3 and V4 share, without the prompt. */
export type CallSettings = Omit<LanguageModelV4CallOptions, "prompt" | "tools"> & {
  readonly tools?: LanguageModelV4FunctionTool[];
};

/** The default settings and options of a model. Those of a request override them. */
export interface CallDefaults {
  readonly settings: ModelSettings;
  readonly options: JsonObject;
}

/**
 * Returns the limits, settings, tools and options of a call. Regardless of the settings, the output is limited to the
 * granted tokens.
 */
export function callSettings(
  {
    provider,
    specificationVersion,
  }: Pick<LanguageModelV4, "provider"> & { readonly specificationVersion: string },
  request: ModelRequest,
  defaults: CallDefaults,
): CallSettings {
  const { reasoning, stopSequences, ...settings } = { ...defaults.settings, ...request.settings };
  if (reasoning && specificationVersion === "v3")
    throw new TypeError(
      `settings.reasoning needs a model of specification v4, and ${provider} has v3: set it in providerOptions`,
    );
  const schema = request.outputSchema && schemaFields(request.outputSchema);
  const thinks = reasoning ? thinkingOptions(provider, reasoning, request.maxOutputTokens) : null;
  const set = mergeOptions(defaults.options, request.options ?? {});
  const needed = mergeOptions(schema?.options ?? {}, thinks ?? {});
  const { maxOutputTokens, options } = limitOptions(mergeOptions(needed, set), request.maxOutputTokens);
  return {
    ...omitUndefined(settings),
    ...(stopSequences && { stopSequences: [...stopSequences] }),
    ...(reasoning && !thinks && { reasoning }),
    ...(schema && { responseFormat: schema.responseFormat }),
    maxOutputTokens,
    ...(request.tools.length > 0 && { tools: functionTools(request.tools) }),
    ...(request.tools.length > 0 && request.toolChoice && { toolChoice: toToolChoice(request.toolChoice) }),
    ...(Object.keys(options).length > 0 && { providerOptions: Json.as<SharedV4ProviderOptions>(options) }),
  };
}

/** Removes undefined fields. */
function omitUndefined(
  settings: ModelSettings,
): Pick<LanguageModelV4CallOptions, "temperature" | "topP" | "topK" | "seed"> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function toToolChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

/** Provider by provider, then field by field. */
export function mergeOptions(below: JsonObject, above: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = { ...below };
  for (const [provider, options] of Object.entries(above)) {
    const under = result[provider];
    result[provider] = isJsonObject(under) && isJsonObject(options) ? { ...under, ...options } : options;
  }
  return result;
}

const converted = new WeakMap<readonly ToolDescription[], LanguageModelV4FunctionTool[]>();

function functionTools(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  const known = converted.get(tools);
  if (known) return known;
  // Sorted, regardless of registration order: tools come first in a prompt, and a cached prefix must be identical.
  const ordered = tools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const fresh = ordered.map(({ name, description, inputSchema }) => ({
    type: "function" as const,
    name,
    description,
    inputSchema: Json.as<LanguageModelV4FunctionTool["inputSchema"]>(inputSchema),
  }));
  converted.set(tools, fresh);
  return fresh;
}
