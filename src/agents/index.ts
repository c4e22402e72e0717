export { agent, type AgentOptions, type BuiltAgent } from "./agent.ts";
export { cancellationToken } from "./cancellation-token.ts";
export { argumentRules, type ArgumentRule } from "./guardrails/argument-rules.ts";
export { contentFilter, type ContentFilterOptions, type GuardedPlace } from "./guardrails/content-filter.ts";
export { judge, type JudgeOptions } from "./guardrails/judge.ts";
export {
  LoopDetection,
  loopLimits,
  type LoopDecision,
  type LoopLimits,
} from "./guardrails/loop-detection.ts";
export { tokenLimits, type TokenLimits } from "./guardrails/token-limits.ts";
export { untrustedContent } from "./guardrails/untrusted-content.ts";
export { CostTracker } from "./hooks/cost-tracker.ts";
export { HookManager, type HookError, type HookSet } from "./hooks/hook-manager.ts";
export { RunLogger } from "./hooks/run-logger.ts";
export { cache, type CacheOptions } from "./middleware/cache.ts";
export { fallback, type FallbackOptions } from "./middleware/fallback.ts";
export { throughLayers } from "./middleware/pipeline.ts";
export { rateLimit, type RateLimitOptions } from "./middleware/rate-limit.ts";
export { redact, type RedactOptions } from "./middleware/redact.ts";
export { sensitive, type SensitivePattern } from "./middleware/sensitive.ts";
export { placeRetry, retry, type RetryOptions } from "./middleware/retry.ts";
export { timeout } from "./middleware/timeout.ts";
export { validate, type ValidateOptions } from "./middleware/validate.ts";
export { allowAll, defaultPermissions, verdictOf } from "./permissions/permissions.ts";
export { RetryPolicy } from "./retry-policy.ts";
export { getPromptWindow, type OldResults, type PromptWindowOptions } from "./session/prompt-window.ts";
export { branchesToDrop, placeOf, type RetainedRun } from "./session/retention.ts";
export { exportSession, importSession, type ImportReport } from "./session/session-file.ts";
export { Session, type EntryDraft, type EntryPlace } from "./session/session.ts";
export { systemClock } from "./system-clock.ts";
export type { TeamMember } from "./team.ts";
export { aiSdkTools, type AiSdkTool } from "./tools/ai-sdk-tools.ts";
export { describe, jsonSchemaOf, tool } from "./tools/tool.ts";
export { fingerprint, spread } from "./fingerprint.ts";
export { narrowed, permissions, stricter, type PermissionSource } from "./permissions/rules.ts";
