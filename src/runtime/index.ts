export type { DeltaEndpointOptions } from "./deltas/delta-endpoint.ts";
export type { RunDelta } from "./deltas/run-delta.ts";
export { currentScope } from "./run/ambient.ts";
export { RunHandle, type HandleHost, type TopUpAmounts } from "./run-handle.ts";
export { Runtime, type RuntimeOptions, type ServeOptions, type StartOptions } from "./runtime.ts";
export { systemClock } from "#agents";
