export { mergeOptions } from "./call-settings.ts";
export { classifyError, type ErrorCircumstances } from "./classify-error.ts";
export { embeddingModel, type AiSdkEmbeddingModel, type EmbeddingModelOptions } from "./embedding-model.ts";
export { estimateTokens } from "./estimate-tokens.ts";
export { fileTokens, pictureRules, type FileReader } from "./file-tokens.ts";
export { inputBound, writesCache, type Measured } from "./input-bound.ts";
export {
  languageModel,
  type AiSdkModel,
  type AnyModel,
  type LanguageModelOptions,
} from "./language-model.ts";
export {
  modelFacts,
  providerAt,
  resolvePrice,
  type ModelFacts,
  type ModelName,
  type PriceCircumstances,
} from "./model-facts.ts";
export { fieldCost, limitOptions, lower, optionCost, type OptionCost } from "./option-cost.ts";
export { optionRow, optionTable, type OptionFamily, type OptionRow } from "./option-table.ts";
export { readUsage } from "./read-usage.ts";
export { ReportedPrompt } from "./reported-prompt.ts";
export { schemaBound } from "./response-format.ts";
export { strictJson, type StrictJson } from "./strict-json.ts";
export { isMalformed, type MalformedToolCall } from "./tool-input.ts";
export { wireField } from "./wire-field.ts";
