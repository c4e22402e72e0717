export { agent, type AgentOptions, type BuiltAgent } from "./agent.ts";
export type { InstructionsInput } from "./prompt/instructions.ts";
export { agentGraph, type AgentGraph } from "./agent-graph.ts";
export { extendAgent, extensionsOf, type Expand } from "./extensions/extend-agent.ts";
export { extension } from "./extensions/extension.ts";
export { handoff, handoffOf, withoutTools, type Handoff, type HandoffOptions } from "./handoffs/handoff.ts";
export { activeAgent } from "./handoffs/active-agent.ts";
export { passControl } from "./handoffs/pass-control.ts";
export { argumentRules } from "./guardrails/argument-rules.ts";
export { contentFilter } from "./guardrails/content-filter.ts";
export { judge } from "./guardrails/judge.ts";
export { LoopDetection, loopLimits } from "./guardrails/loop-detection.ts";
export { RepeatedText } from "./guardrails/repeated-text.ts";
export { tokenLimits } from "./guardrails/token-limits.ts";
export { untrustedContent } from "./guardrails/untrusted-content.ts";
export { CostTracker } from "./hooks/cost-tracker.ts";
export { HookManager } from "./hooks/hook-manager.ts";
export { RunLogger } from "./hooks/run-logger.ts";
export { storedText } from "./memory/stored-text.ts";
export { memory } from "./memory/memory.ts";
export { plannedAgent } from "./planned/planned-agent.ts";
export { cache, type CacheOptions } from "./middleware/cache.ts";
export { concurrency } from "./middleware/concurrency.ts";
export { fallback } from "./middleware/fallback.ts";
export { failedLayer, middlewareName, throughLayers } from "./middleware/pipeline.ts";
export { rateLimit, type RateLimitOptions } from "./middleware/rate-limit.ts";
export { redact } from "./middleware/redact.ts";
export { placeRetry, retry } from "./middleware/retry.ts";
export { timeout } from "./middleware/timeout.ts";
export { truncateContent, truncateHistory } from "./middleware/truncate.ts";
export { validate } from "./middleware/validate.ts";
export { allowAll, defaultPermissions, decidePermission } from "./permissions/permissions.ts";
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
  compactMessages,
} from "./session/strategies.ts";
export { summarise, type SummaryOptions } from "./session/summarise.ts";
export {
  getPromptWindow,
  readPromptWindow,
  summaryMessage,
  type PromptWindow,
  type PromptWindowOptions,
} from "./session/prompt-window.ts";
export { branchesToDrop, toBranch } from "./session/retention.ts";
export { exportSession, importSession, type ImportReport } from "./session/session-file.ts";
export { Session, type EntryDraft } from "./session/session.ts";
export { informationAgent } from "./information-agent.ts";
export { isTeamTool, teamTools, type TeamMember } from "./team.ts";
export { aiSdkTools } from "./tools/ai-sdk-tools.ts";
export { missingModel } from "./missing-model.ts";
export { handoffTargets, isAgent, programAgents, teamOf } from "./program-agents.ts";
export { createObjectSchema } from "./tools/object-schema.ts";
export { parseTask } from "./task-input.ts";
export { textInput } from "./tools/text-input.ts";
export { jsonSchemaOf, tool } from "./tools/tool.ts";
export { isToolName, toolNameRule } from "./tools/tool-name.ts";
export { agentVersion } from "./agent-version.ts";
export { applyRules, permissions, pickStricter } from "./permissions/rules.ts";
