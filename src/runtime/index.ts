export type { DeltaEndpointOptions, RunDelta, ToolUpdate } from "#deltas";
export type { AuditVerdict } from "#audit";
export { Session } from "#agents";
export { currentScope } from "#run";
export type {
  CompactionStart,
  ContextUsage,
  Conversation,
  ConversationMessage,
  MessagesRequest,
  Owner as ConversationOwner,
  Phase,
  TurnOptions,
} from "./conversation.ts";
export type { ConversationFilter, NewConversation } from "./conversations.ts";
export type { Memories, SharedBlock } from "./memories.ts";
export { RunHandle, type TopUpAmounts } from "./run-handle.ts";
export type { RunLedger } from "./run-ledger.ts";
export type { SwitchTarget, SwitchView } from "./switches.ts";
export type { BudgetOwner, TenantBudget, TenantBudgetView } from "./tenants.ts";
export type { ScheduleLimits, ScheduleOwner } from "#tree";
export {
  checkScheduleId,
  checkTimes,
  shortestIntervalMs,
  type ScheduleDetails,
  type ScheduleOptions,
  type ScheduleView,
} from "./schedules.ts";
export { Runtime } from "./runtime.ts";
export {
  checkWebhookId,
  type SetWebhookResult,
  type WebhookDetails,
  type WebhookOptions,
  type WebhookView,
} from "#webhooks";
export type { StepPrompt } from "./step-content.ts";
export type { StepSummary } from "./unrecorded-steps.ts";
export type { StartOptions } from "./start-options.ts";
export type { RuntimeOptions } from "./runtime-options.ts";
export { agentGraph, agentVersion, isAgent, middlewareName, type AgentGraph } from "#agents";
