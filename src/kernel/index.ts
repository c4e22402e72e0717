export type { Architecture, DelegateOptions, Delivery, InlineOptions } from "./architecture.ts";
export type { StrategyDeps, StrategyState, ThinkOptions } from "./architecture.ts";
export type { Agent, AgentPolicy } from "./agent.ts";
export { ApiKeyRecord, KeyLimits, type ApiKeyScope, type StartLimits } from "./api-key.ts";
export {
  ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalRecord,
  type SentApproval,
  ApprovalRefusedError,
  type ApprovalRequest,
  type Approver,
} from "./approval.ts";
export { BacklogFullError } from "./backlog-full-error.ts";
export type { CancellationToken } from "./cancellation.ts";
export { checkRule, checkTerms } from "./check-terms.ts";
export { isLine, toLine } from "./check-text.ts";
export { checkDuration, checkMoment, maxDuration } from "./check-time.ts";
export type { Clock } from "./clock.ts";
export type {
  AttachOptions,
  BatchedCall,
  BatchedReply,
  BlockedExecution,
  ChangeOptions,
  Engine,
  EngineProgram,
  Epoch,
  ObjectAddress,
  ObjectContext,
  ObjectDefinition,
  LastingParts,
  StoredTogether,
  ObjectMethod,
  Blocker,
  OpenOperations,
  Operation,
  Outcome,
  ExecutionPrimitives,
  RunLaunch,
  SendOptions,
  CallObject,
  SinkDefinition,
  StepIo,
} from "./engine.ts";
export type { Seal, Sealing } from "./seal.ts";
export type { Diagnostic, FailureLog, FailureRecord } from "./diagnostic.ts";
export { hideSecrets } from "./hide-secrets.ts";
export { delegateEngine, delegateObject, delegatePrimitives } from "./engine-delegates.ts";
export type { Envelope, Inbox, Sender } from "./envelope.ts";
export type { EphemeralCall, EphemeralSource } from "./ephemeral.ts";
export { upgradeError, upgradeEvent } from "./upgrade-event.ts";
export { eraseApproval, erasedText, eraseError, eraseEvent, eventTypes, hideDiagnostic } from "./erase.ts";
export { decodeError, encodeError } from "./error-codec.ts";
export type { BudgetDimension, CallDenialReason, DenialReason, LimitAccount } from "./denial.ts";
export * from "./errors.ts";
export {
  agentEventTypes,
  type AgentEventType,
  type EventPayloads,
  type EventType,
  type LimitMet,
  type NumberedEvent,
  type ReeveEvent,
  type RunLimits,
  type TreeLimits,
} from "./event.ts";
export { type UserRecord, exportUser } from "./export-user.ts";
export type { Extension, LoadedParts, MiddlewareSet } from "./extension.ts";
export type { ExtensionContext, ExtensionEntry } from "./extension-context.ts";
export * from "./interceptions.ts";
export type { GuardedCall, Guardrail, GuardrailScope } from "./guardrail.ts";
export type { GuardrailDecision } from "./guardrail-decision.ts";
export type { AgentSpec, TaskOf, TypedInput, OutputOf } from "./agent-spec.ts";
export type { Hook, Hooks } from "./hook.ts";
export { HumanQuestion, type QuestionField } from "./human-question.ts";
export {
  AgentId,
  ApprovalId,
  AttemptId,
  EntryId,
  EventId,
  MessageId,
  RunId,
  SessionId,
  StepId,
  TenantId,
  TopicId,
  TreeId,
  UserId,
} from "./ids.ts";
export { InvalidInputError, type Input, type InputFile, type InputLimits } from "./input.ts";
export { findJsonProblem, Json, type Jsonified, type JsonObject, isJsonObject, keysOf } from "./json.ts";
export type { KeyRing, Keys, SealingKey } from "./keys.ts";
export { LimitState, type RateRequest } from "./limit.ts";
export { Labels, type LabelSource, type Sensitivity, type ToolFlow } from "./labels.ts";
export {
  ChatMessage,
  ContentBlock,
  ContentSource,
  type DataBlock,
  type FileBlock,
  MalformedReason,
  type Role,
  type ToolCallBlock,
  type ToolResultBlock,
} from "./message.ts";
export type {
  AgentMiddleware,
  AgentRunContext,
  ChatContext,
  ChatMiddleware,
  FunctionContext,
  FunctionMiddleware,
  Middleware,
  StepScope,
} from "./middleware.ts";
export type { AnswerCache, CacheEntry, CacheLimits, CacheStore } from "./cache.ts";
export type {
  FinishReason,
  Model,
  ModelCall,
  ModelDelta,
  ModelRequest,
  ModelResponse,
  ModelRetry,
  ModelSettings,
  ToolChoice,
  ToolDescription,
} from "./model.ts";
export { ModelError, type ModelErrorKind } from "./model-error.ts";
export { DisabledError } from "./disabled-error.ts";
export { IdConflictError } from "./id-conflict-error.ts";
export { StoredValueError, StoreRejectionError } from "./stored-value-error.ts";
export { ProgramError, RuntimeClosedError } from "./program-error.ts";
export { type Micros, Money } from "./money.ts";
export { Page, type PageRequest, type PageCursor } from "./page.ts";
export { Partition } from "./partition.ts";
export type {
  ArgumentTest,
  PermissionRequest,
  PermissionRule,
  Permissions,
  Risk,
  PermissionDecision,
} from "./permission.ts";
export { findPlatformProblem } from "./platform.ts";
export { Price, type Rates } from "./price.ts";
export {
  type PromptSection,
  type SectionCall,
  type SectionPosition,
  sectionPlaces,
  type SectionText,
  type ShownSection,
} from "./prompt-section.ts";
export { Continuation, Ended } from "./ended.ts";
export type {
  AskOptions,
  AskOutcome,
  AskReply,
  ChildHandle,
  CopyOptions,
  GuardedMoment,
  InstructionsCall,
  JoinOutcome,
  LlmOptions,
  RunContext,
  RunConversation,
  SpawnOptions,
  StepCall,
  StepOptions,
  StepRetry,
  Subscription,
  ToolOptions,
} from "./run-context.ts";
export { RunMeta, type RequestMetadata, type RunScope } from "./run-meta.ts";
export {
  toStopReason,
  type CancelReceipt,
  type EndStatus,
  type RunResult,
  type SentResult,
  RunStatus,
  StopReason,
} from "./run-status.ts";
export { Secret, secret } from "./secret.ts";
export { type EntryBase, SessionEntry, type SessionHead, type SessionKey } from "./session.ts";
export {
  type Adoption,
  type AdoptionOutcome,
  type AppendFence,
  type ApprovalFilter,
  type ApprovalStore,
  type ApiKeyStore,
  type AuditCheck,
  type AuditEntry,
  type AuditFilter,
  type AuditHead,
  type AuditStore,
  type EventStore,
  type KeyStore,
  type LeafMove,
  type LimitStore,
  type LiveTotals,
  type ManifestRecord,
  type ManifestStore,
  type ManifestText,
  type RunFilter,
  type RunRecord,
  type RunStore,
  type NewFork,
  type NewSession,
  type SessionFilter,
  type SessionStore,
  type Settlement,
  type Store,
  type TreeSearch,
  type StoreHealth,
  type WorkerRecord,
  type WorkerStore,
  type WrappedKey,
} from "./store.ts";
export {
  type CallInDoubt,
  Spend,
  type SpendCall,
  type SpendDimension,
  type SpendFigures,
  type SpendQuery,
  type SpendRow,
  type SpendStore,
  type SpendSum,
  type TreeSpend,
} from "./spend.ts";
export {
  ExecutionBudget,
  type HistoryRetention,
  Priority,
  retentions,
  SpawnBudget,
  Supervision,
} from "./supervision.ts";
export { type ShownValue, ToolResult, type UnfinishedValue } from "./tool-result.ts";
export type {
  Compaction,
  CompactionPolicy,
  CompactionRequest,
  CompactionStrategy,
  HistoryProvider,
  HistoryRequest,
} from "./compaction.ts";
export type { EffectCall, EffectTool, ResumedCall, RunTool, Tool, ToolAnswer } from "./tool.ts";
export { SpanId, TraceParent } from "./trace.ts";
export { Usage } from "./usage.ts";
export {
  StepManifest,
  type ManifestPart,
  type PartRole,
  type StepAttempt,
  type StepDecision,
} from "./step-manifest.ts";
export {
  type Embedder,
  type Embeddings,
  MemoryVector,
  type VectorPosition,
  type VectorQuery,
  type VectorStore,
} from "./embedder.ts";
export {
  Fact,
  type FactQuery,
  type ForgetRequest,
  type IndexEntry,
  MemoryHit,
  MemoryItem,
  MemoryOwner,
  type MemoryQuery,
  type RememberOptions,
  type MemoryStore,
} from "./memory.ts";
export { type BlockEdit, type BlockEditResult, type BlockReceipt, MemoryBlock } from "./memory-block.ts";
export { toTerms, weighTerms } from "./memory-terms.ts";
export type { BlockDraft, FactDraft, FoundMemory, IndexedText } from "./run-memory.ts";
export type { MemorySearch, MemorySharing, RunMemory, SavedTurn, SavedTurnHandler } from "./run-memory.ts";
export { listAll } from "./list-all.ts";
export { copyStore } from "./copy-store.ts";
export { withVectors } from "./with-vectors.ts";
export { OutputError, StrategyError } from "./strategy-error.ts";
export { TurnLostError } from "./turn-lost-error.ts";
export { findTurn, findTurnStart } from "./turn-path.ts";
export { webhookEvents, WebhookDelivery, type WebhookEvent, type WebhookStore } from "./webhook.ts";
export type { ClaimedDelivery, ClaimRequest, NewWebhookDelivery, WebhookRecord } from "./webhook.ts";
