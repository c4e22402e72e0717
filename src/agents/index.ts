export { agent, type AgentOptions, type BuiltAgent, type LedAgentOptions } from "./agent.ts";
export type { Instructions, InstructionsInput } from "./prompt/instructions.ts";
export { agentGraph, type AgentGraph } from "./agent-graph.ts";
export { extendAgent, extensionsOf, type Expand } from "./extensions/extend-agent.ts";
export { extension } from "./extensions/extension.ts";
export {
  handoff,
  handoffOf,
  withoutTools,
  type Handoff,
  type HandoffEntry,
  type HandoffFilter,
  type HandoffOptions,
  type HandoffParties,
} from "./handoffs/handoff.ts";
export { activeAgent } from "./handoffs/active-agent.ts";
export { passControl } from "./handoffs/pass-control.ts";
export { argumentRules, type ArgumentRule } from "./guardrails/argument-rules.ts";
export { contentFilter, type ContentFilterOptions, type GuardedPlace } from "./guardrails/content-filter.ts";
export { judge, type JudgeOptions } from "./guardrails/judge.ts";
export {
  LoopDetection,
  loopLimits,
  type LoopDecision,
  type LoopLimits,
} from "./guardrails/loop-detection.ts";
export { RepeatedText } from "./guardrails/repeated-text.ts";
export { tokenLimits, type TokenLimits } from "./guardrails/token-limits.ts";
export { untrustedContent } from "./guardrails/untrusted-content.ts";
export type { CompactionOptions } from "./compaction-options.ts";
export { CostTracker } from "./hooks/cost-tracker.ts";
export { HookManager, type HookError, type HookSet } from "./hooks/hook-manager.ts";
export { RunLogger } from "./hooks/run-logger.ts";
export type { BlockOptions } from "./memory/blocks.ts";
export { storedText } from "./memory/stored-text.ts";
export { memory, type MemoryOptions } from "./memory/memory.ts";
export { plannedAgent, type PlannedAgentOptions, type QuarantineOptions } from "./planned/planned-agent.ts";
export { cache, type CacheOptions } from "./middleware/cache.ts";
export { concurrency, type ConcurrencyOptions } from "./middleware/concurrency.ts";
export { fallback, type FallbackOptions } from "./middleware/fallback.ts";
export { failedLayer, middlewareName, throughLayers } from "./middleware/pipeline.ts";
export { rateLimit, type RateLimitOptions } from "./middleware/rate-limit.ts";
export { redact, type RedactOptions } from "./middleware/redact.ts";
export { sensitive, type SensitivePattern } from "./middleware/sensitive.ts";
export { placeRetry, retry, type RetryOptions } from "./middleware/retry.ts";
export { timeout } from "./middleware/timeout.ts";
export {
  truncateContent,
  truncateHistory,
  type TruncateContentOptions,
  type TruncateHistoryOptions,
} from "./middleware/truncate.ts";
export { validate, type ValidateOptions } from "./middleware/validate.ts";
export { allowAll, defaultPermissions, verdictOf } from "./permissions/permissions.ts";
export { platformHints } from "./prompt/platforms.ts";
export { RetryPolicy } from "./retry-policy.ts";
export { findCut, type Cut, type CutItem, type CutOptions } from "./session/find-cut.ts";
export { readCut } from "./session/read-cut.ts";
export {
  lastToolGroups,
  pipeline,
  repairPrompt,
  slidingWindow,
  tokenLimit,
  trimResults,
  viewOf,
} from "./session/strategies.ts";
export { summarise, type SummaryOptions } from "./session/summarise.ts";
export {
  getPromptWindow,
  readPromptWindow,
  summaryMessage,
  type OldResults,
  type PromptWindow,
  type PromptWindowOptions,
} from "./session/prompt-window.ts";
export { branchesToDrop, placeOf, type RetainedRun } from "./session/retention.ts";
export type { ReviewOptions } from "./turn/review.ts";
export { exportSession, importSession, type ImportReport } from "./session/session-file.ts";
export { Session, type EntryDraft, type EntryPlace } from "./session/session.ts";
export { informationAgent, type InformationAgentOptions } from "./information-agent.ts";
export { isTeamTool, teamTools, type TeamMember } from "./team.ts";
export { aiSdkTools, type AiSdkTool } from "./tools/ai-sdk-tools.ts";
export { missingModel } from "./missing-model.ts";
export { handoffTargets, isAgent, programAgents, teamOf } from "./program-agents.ts";
export { objectSchema } from "./tools/object-schema.ts";
export { parseTask } from "./task-input.ts";
export { textInput } from "./tools/text-input.ts";
export { describe, jsonSchemaOf, tool } from "./tools/tool.ts";
export { isToolName, toolNameRule } from "./tools/tool-name.ts";
export { agentVersion } from "./agent-version.ts";
export { narrowed, permissions, stricter, type PermissionSource } from "./permissions/rules.ts";
