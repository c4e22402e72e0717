export { mergeOptions } from "./call-settings.ts";
export { classifyError } from "./classify-error.ts";
export { embeddingModel } from "./embedding-model.ts";
export { estimateTokens } from "./estimate-tokens.ts";
export { fileTokens, pictureRules, type FileReader } from "./file-tokens.ts";
export { inputBound, writesCache } from "./input-bound.ts";
export {
  languageModel,
  type AiSdkModel,
  type AnyModel,
  type LanguageModelOptions,
} from "./language-model.ts";
export { modelFacts, providerAt, resolvePrice, type ModelName } from "./model-facts.ts";
export { fieldCost, limitOptions, lowerNumbers, optionCost, type OptionCost } from "./option-cost.ts";
export { optionTable, type OptionFamily } from "./option-table.ts";
export { readUsage } from "./read-usage.ts";
export { ReportedPrompt } from "./reported-prompt.ts";
export { schemaBound } from "./response-format.ts";
export { strictJson } from "./strict-json.ts";
export { isMalformed } from "./tool-input.ts";
export { wireField } from "./wire-field.ts";
