/*
 * The cost of provider options.
 *
 * One table for the runtime and for `govern`: an option that is not listed may cost anything, so it is refused if
 * tokens or cost are limited. `docs/guide/provider-options.md` shows the table; a test compares the two.
 *
 * Families are the namespaces of AI SDK packages (`compatible`: every other namespace, which is passed to the provider
 * unchanged) and the request bodies that `govern.fetch` reads (`chat`, `responses`, `messages`).
 */

/** The provider that reads an option. */
export type OptionFamily =
  | "openai"
  | "anthropic"
  | "google"
  | "bedrock"
  | "compatible"
  | "chat"
  | "responses"
  | "messages";

/**
 * The way an option is counted.
 * `free`: not at all.
 * `prompt`: its bytes are input.
 * `limit`: lowered to the granted output.
 * `thinking`: a budget that the package adds to the limit, taken out of the granted output.
 * `choices`: the number of answers that share the granted output.
 * `cache`: input is reserved at the price of cache writes.
 * `refused`: the cost is unknown.
 */
type OptionTreatment = "free" | "prompt" | "limit" | "thinking" | "choices" | "cache" | "refused";

/** Options that are counted in the same way. */
export interface OptionRow {
  readonly families: readonly OptionFamily[];
  /** In camel case; `max_tokens` is looked up as `maxTokens`. */
  readonly names: readonly string[];
  readonly treatment: OptionTreatment;
  /** The reason, for display. */
  readonly why: string;
  /** Values that cost nothing although other values are refused. */
  readonly freeValues?: readonly string[];
}

const requests = ["chat", "responses", "messages"] as const;

/** All known options. */
export const optionTable: readonly OptionRow[] = [
  {
    families: ["openai", "compatible", "chat", "responses"],
    names: [
      "logitBias",
      "logprobs",
      "topLogprobs",
      "metadata",
      "parallelToolCalls",
      "promptCacheKey",
      "promptCacheRetention",
      "reasoningEffort",
      "safetyIdentifier",
      "store",
      "strictJsonSchema",
      "textVerbosity",
      "user",
      "verbosity",
    ],
    treatment: "free",
    why: "changes the answer or its form, inside the limit",
  },
  {
    families: ["compatible", ...requests],
    names: [
      "frequencyPenalty",
      "functionCall",
      "minP",
      "presencePenalty",
      "repetitionPenalty",
      "seed",
      "stop",
      "stopSequences",
      "stream",
      "streamOptions",
      "temperature",
      "toolChoice",
      "topK",
      "topP",
    ],
    treatment: "free",
    why: "sampling and transport",
  },
  {
    families: ["openai", "responses"],
    names: [
      "allowedTools",
      "forceReasoning",
      "include",
      "includeWebSearchSources",
      "maxToolCalls",
      "passThroughUnsupportedFiles",
      "reasoning",
      "reasoningEffortUpdate",
      "reasoningSummary",
      "systemMessageMode",
      "truncation",
    ],
    treatment: "free",
    why: "reasoning is inside the limit; the others add nothing",
  },
  {
    families: ["anthropic", "messages"],
    names: [
      "disableParallelToolUse",
      "effort",
      "includePings",
      "metadata",
      "sendReasoning",
      "structuredOutputMode",
      "taskBudget",
      "toolStreaming",
    ],
    treatment: "free",
    why: "changes the answer or its form, inside the limit",
  },
  {
    families: ["google"],
    names: [
      "audioTimestamp",
      "labels",
      "mediaResolution",
      "requestType",
      "retrievalConfig",
      "safetySettings",
      "streamFunctionCallArguments",
      "structuredOutputs",
      "threshold",
    ],
    treatment: "free",
    why: "changes the answer or its form, inside the limit",
  },
  {
    families: ["openai", "compatible", "chat", "responses", "messages"],
    names: ["maxTokens", "maxCompletionTokens", "maxOutputTokens"],
    treatment: "limit",
    why: "sent as at most the granted output",
  },
  {
    families: ["google"],
    names: ["thinkingConfig"],
    treatment: "limit",
    why: "`thinkingBudget` is inside the limit and lowered to it",
  },
  {
    families: ["messages"],
    names: ["thinking"],
    treatment: "limit",
    why: "`budget_tokens` is inside the limit, and less than it",
  },
  {
    families: ["anthropic"],
    names: ["thinking"],
    treatment: "thinking",
    why: "the package adds `budgetTokens` to the limit",
  },
  {
    families: ["bedrock"],
    names: ["reasoningConfig"],
    treatment: "thinking",
    why: "the package adds `budgetTokens` to the limit",
  },
  {
    families: ["compatible", "chat"],
    names: ["n", "bestOf"],
    treatment: "choices",
    why: "this many answers share the granted output",
  },
  {
    families: ["openai", "responses"],
    names: ["instructions"],
    treatment: "prompt",
    why: "more input",
  },
  {
    families: ["compatible"],
    names: ["responseFormat"],
    treatment: "prompt",
    why: "more input",
  },
  {
    families: ["anthropic", "bedrock", "messages"],
    names: ["cacheControl", "cachePoint"],
    treatment: "cache",
    why: "input is reserved at the price of cache writes",
  },
  {
    families: ["openai", "anthropic", "google", "bedrock", "compatible", ...requests],
    names: ["serviceTier", "sharedRequestType"],
    treatment: "refused",
    freeValues: ["auto", "default", "flex", "standard", "standard_only"],
    why: "a more expensive tier than the price states",
  },
  {
    families: ["anthropic", "messages"],
    names: ["speed"],
    treatment: "refused",
    freeValues: ["standard"],
    why: "fast output has its own price",
  },
  {
    families: ["anthropic", "messages"],
    names: ["inferenceGeo"],
    treatment: "refused",
    freeValues: ["global"],
    why: "a region has its own price",
  },
  {
    families: ["openai", "responses"],
    names: ["reasoningMode", "reasoningContext"],
    treatment: "refused",
    freeValues: ["standard", "auto", "current_turn"],
    why: "more work, or more input, than one answer",
  },
  {
    families: ["openai", "chat", "responses"],
    names: ["promptCacheOptions"],
    treatment: "refused",
    why: "cache writes with their own price",
  },
  {
    families: ["openai", "compatible", "chat"],
    names: ["prediction"],
    treatment: "refused",
    why: "rejected parts are billed as output",
  },
  {
    families: ["openai", "responses"],
    names: [
      "previousResponseId",
      "conversation",
      "prompt",
      "background",
      "contextManagement",
      "compactionTrigger",
    ],
    treatment: "refused",
    why: "input that the provider keeps",
  },
  {
    families: ["compatible", "chat"],
    names: ["webSearchOptions", "audio", "modalities", "plugins", "models"],
    treatment: "refused",
    why: "another model, another kind of output, or tools of the provider",
  },
  {
    families: ["anthropic", "messages"],
    names: [
      "anthropicBeta",
      "compaction",
      "container",
      "contextManagement",
      "fallbacks",
      "mcpServers",
      "safeguards",
      "thread",
    ],
    treatment: "refused",
    why: "other models, other prices, or input that the provider adds",
  },
  {
    families: ["google"],
    names: ["responseModalities"],
    treatment: "refused",
    freeValues: ["TEXT"],
    why: "pictures and sound have their own prices",
  },
  {
    families: ["google"],
    names: ["cachedContent", "continuationToken", "imageConfig"],
    treatment: "refused",
    why: "input that the provider keeps, or pictures as output",
  },
  {
    families: ["bedrock"],
    names: ["additionalModelRequestFields", "guardrailConfig", "performanceConfig"],
    treatment: "refused",
    why: "fields or services with their own prices",
  },
];

const families: Readonly<Record<string, OptionFamily>> = {
  openai: "openai",
  azure: "openai",
  anthropic: "anthropic",
  google: "google",
  vertex: "google",
  googleVertex: "google",
  bedrock: "bedrock",
  "amazon-bedrock": "bedrock",
  amazonBedrock: "bedrock",
};

/** The family that reads a namespace of provider options. */
export function familyOf(namespace: string): OptionFamily {
  return (Object.hasOwn(families, namespace) && families[namespace]) || "compatible";
}

const rows = new Map(
  optionTable.flatMap((row) =>
    row.families.flatMap((family) => row.names.map((name) => [`${family}.${name}`, row] as const)),
  ),
);

/** Looks up an option. Undefined if it is unknown. */
export function optionRow(family: OptionFamily, name: string): OptionRow | undefined {
  return rows.get(`${family}.${camelCase(name)}`);
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
