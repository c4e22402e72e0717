export {
  agent,
  aiSdkTools,
  allowAll,
  cancellationToken,
  CostTracker,
  defaultPermissions,
  exportSession,
  getPromptWindow,
  HookManager,
  importSession,
  permissions,
  RetryPolicy,
  RunLogger,
  Session,
  tool,
  type AgentOptions,
  type BuiltAgent,
  type EntryDraft,
  type EntryPlace,
  type HookSet,
  type ImportReport,
  type OldResults,
  type PermissionSource,
  type PromptWindowOptions,
  type TeamMember,
} from "#agents";
export * from "#kernel";
export { ExecutionTracker, SpawnTracker } from "#ledger";
export { languageModel, type AnyModel } from "#models";
export {
  currentScope,
  RunHandle,
  Runtime,
  type DeltaEndpointOptions,
  type RunDelta,
  type RuntimeOptions,
  type ServeOptions,
  type StartOptions,
  type TopUpAmounts,
} from "#runtime";
export { createRuntime, type CreateRuntimeOptions } from "./create-runtime.ts";
