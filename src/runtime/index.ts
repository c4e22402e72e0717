export type { RunDelta } from "./delta-hub.ts";
export { currentScope } from "./run/ambient.ts";
export { RunHandle, type HandleHost, type TopUpAmounts } from "./run-handle.ts";
export { Runtime, type RuntimeOptions, type StartOptions } from "./runtime.ts";
export { systemClock } from "#agents";
