export { cancellationToken, RetryPolicy } from "#agents";
export * from "#kernel";
export { ExecutionTracker, SpawnTracker } from "#ledger";
export {
  currentScope,
  RunHandle,
  Runtime,
  type RuntimeOptions,
  type StartOptions,
  type TopUpAmounts,
} from "#runtime";
export { createRuntime, type CreateRuntimeOptions } from "./create-runtime.ts";
