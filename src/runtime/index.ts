export type { DeltaEndpointOptions } from "./deltas/delta-endpoint.ts";
export type { RunDelta } from "./deltas/run-delta.ts";
export type { Audit } from "./audit/audit.ts";
export type { AuditKind } from "./audit/audit-of.ts";
export type { AuditFault, AuditVerdict } from "./audit/verify.ts";
export { currentScope } from "./run/ambient.ts";
export { RunHandle, type HandleHost, type TopUpAmounts } from "./run-handle.ts";
export { Runtime, type RuntimeOptions, type ServeOptions, type StartOptions } from "./runtime.ts";
export { systemClock } from "#agents";
