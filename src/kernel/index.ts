export type { Agent, AgentPolicy } from "./agent.ts";
export {
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalRecord,
  ApprovalRefusedError,
  type ApprovalRequest,
  type Approver,
} from "./approval.ts";
export type { CancellationToken } from "./cancellation.ts";
export type { Clock } from "./clock.ts";
export type { AgentContext, CompactionStrategy, EphemeralSource, HistoryProvider } from "./context.ts";
export type {
  Engine,
  EngineProgram,
  ObjectAddress,
  ObjectContext,
  ObjectDefinition,
  ObjectMethod,
  Obstacle,
  Operation,
  Outcome,
  Primitives,
  RunLaunch,
  SendOptions,
  ObjectAsk,
  SinkDefinition,
  StepIo,
} from "./engine.ts";
export type { Envelope, Inbox, Sender } from "./envelope.ts";
export { eraseApproval, erasedText, eraseError, eraseEvent } from "./erase.ts";
export { decodeError, encodeError } from "./error-codec.ts";
export {
  AskFailedError,
  AuditChainError,
  type BudgetDimension,
  BudgetExhaustedError,
  CancellationError,
  DeltasCutError,
  type DenialReason,
  type ErrorData,
  ForeignError,
  GuardrailHalt,
  IdConflictError,
  IncompatibleVersionError,
  KeyDestroyedError,
  MiddlewareTermination,
  ModelError,
  type ModelErrorKind,
  NestedStepError,
  NotFoundError,
  PreemptedError,
  ReeveError,
  ReplayDivergenceError,
  RetryableError,
  RunEndedError,
  SealBrokenError,
  SessionBusyError,
  TooLargeError,
  ToolRefusedError,
  TooManyStepsError,
  UnjournaledAwaitError,
  WaitCycleError,
} from "./errors.ts";
export type { EventBase, EventPayloads, EventType, NumberedEvent, ReeveEvent } from "./event.ts";
export { type UserRecord, exportUser } from "./export-user.ts";
export type { GuardedCall, GuardedResult, GuardedText, Guardrail, GuardrailScope } from "./guardrail.ts";
export type { GuardrailDecision } from "./guardrail-decision.ts";
export type { Hireable } from "./hireable.ts";
export type { Hook, Hooks } from "./hook.ts";
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
export { Json, type JsonObject, isJsonObject, keysOf } from "./json.ts";
export type { KeyRing, Keys, SealingKey } from "./keys.ts";
export { LimitState, type LimitWish } from "./limit.ts";
export { Labels, type Origin, type Sensitivity, type ToolFlow } from "./labels.ts";
export {
  ChatMessage,
  ContentBlock,
  type DataBlock,
  type FileBlock,
  MalformedReason,
  type ReasoningBlock,
  type Role,
  type TextBlock,
  type ToolCallBlock,
  type ToolResultBlock,
  type UnknownBlock,
} from "./message.ts";
export type {
  AgentMiddleware,
  AgentRunContext,
  ChatContext,
  ChatMiddleware,
  FunctionContext,
  FunctionMiddleware,
  Middleware,
  ScopedLlmOptions,
  StepScope,
} from "./middleware.ts";
export type {
  FinishReason,
  Model,
  ModelCall,
  ModelDelta,
  ModelRequest,
  ModelResponse,
  ModelRetry,
  ToolDescription,
} from "./model.ts";
export { type Micros, Money, type Price, Usage } from "./money.ts";
export { Page, type PageRequest, type Place } from "./page.ts";
export { Partition } from "./partition.ts";
export type {
  ArgumentTest,
  PermissionRequest,
  PermissionRule,
  Permissions,
  Risk,
  Verdict,
} from "./permission.ts";
export type {
  AskOptions,
  AskOutcome,
  ChildHandle,
  Continuation,
  Ended,
  GuardedMoment,
  JoinOutcome,
  LlmOptions,
  RunContext,
  SpawnOptions,
  StepCall,
  StepOptions,
  StepRetry,
  ToolOptions,
} from "./run-context.ts";
export { RunMeta, type RunScope, type StandaloneOptions } from "./run-meta.ts";
export type { CancelReceipt, EndStatus, RunResult, RunStatus, StopReason } from "./run-status.ts";
export { Secret, secret } from "./secret.ts";
export { type EntryBase, SessionEntry, type SessionHead, type SessionPhase } from "./session.ts";
export {
  type ApprovalFilter,
  type ApprovalStore,
  type ApiKeyRecord,
  type ApiKeyScope,
  type ApiKeyStore,
  type AuditEntry,
  type AuditHead,
  type AuditStore,
  type CacheStore,
  type EventStore,
  Fact,
  type KeyStore,
  type LimitStore,
  type ManifestStore,
  type MemoryStore,
  type PromptManifest,
  type RunFilter,
  type RunRecord,
  type RunStore,
  type SessionStore,
  type Store,
  type WrappedKey,
  type WorkerRecord,
  type WorkerStore,
} from "./store.ts";
export {
  type ChildOptions,
  ExecutionBudget,
  type HistoryRetention,
  Priority,
  type RootOptions,
  SpawnBudget,
  Supervision,
} from "./supervision.ts";
export { ToolResult } from "./tool-result.ts";
export type { EffectCall, EffectTool, RunTool, Tool, ToolBase } from "./tool.ts";
export { SpanId, TraceParent } from "./trace.ts";
