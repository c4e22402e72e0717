export type { DeltaEndpointOptions, RunDelta, ToolUpdate } from "#deltas";
export type { Audit, AuditKind, AuditFault, AuditList, AuditReport, AuditVerdict } from "#audit";
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
  StreamOptions,
  TurnOptions,
  TurnStream,
} from "./conversation.ts";
export type { ConversationFilter, Conversations, NewConversation } from "./conversations.ts";
export type { ExtensionErrorRecord } from "./extension-host.ts";
export type { Memories, SharedBlock } from "./memories.ts";
export { RunHandle, type HandleHost, type TopUpAmounts } from "./run-handle.ts";
export type { AccountView, RunLedger } from "./run-ledger.ts";
export type { DisableOptions, Switches, SwitchTarget, SwitchView } from "./switches.ts";
export type { BudgetOwner, TenantBudget, TenantBudgetView, Tenants } from "./tenants.ts";
export type { CatchUp, ScheduleOwner, TickResult } from "#tree";
export {
  checkScheduleId,
  checkTimes,
  type ScheduleDetails,
  type ScheduleFilter,
  type ScheduleOptions,
  type Schedules,
  type ScheduleView,
} from "./schedules.ts";
export { Runtime } from "./runtime.ts";
export {
  checkWebhookId,
  type DeliveryFilter,
  type SetWebhookResult,
  type WebhookDetails,
  type WebhookOptions,
  type Webhooks,
  type WebhookSettings,
  type WebhookView,
} from "#webhooks";
export type { ShownPart, StepPrompt } from "./step-content.ts";
export type { StepContentState, StepSummary } from "./unrecorded-steps.ts";
export type { ServeOptions, StartOptions } from "./start-options.ts";
export type { RuntimeOptions, TreeTelemetry } from "./runtime-options.ts";
export { agentGraph, agentVersion, isAgent, middlewareName, type AgentGraph } from "#agents";
