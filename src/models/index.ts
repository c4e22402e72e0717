export { thinkingTokens, withinCeiling } from "./call-settings.ts";
export { classifyError, type ErrorCircumstances } from "./classify-error.ts";
export { estimateTokens } from "./estimate-tokens.ts";
export { inputBound, type Measured } from "./input-bound.ts";
export {
  languageModel,
  type AiSdkModel,
  type AnyModel,
  type LanguageModelOptions,
  type SamplingSettings,
} from "./language-model.ts";
export {
  modelFacts,
  providerAt,
  resolvePrice,
  type ModelFacts,
  type ModelName,
  type PriceCircumstances,
} from "./model-facts.ts";
export { readUsage } from "./read-usage.ts";
export { ReportedPrompt } from "./reported-prompt.ts";
export { strictJson, type StrictJson } from "./strict-json.ts";
export { isMalformed, type MalformedToolCall } from "./tool-input.ts";
export { wireField } from "./wire-field.ts";
