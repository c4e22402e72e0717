export type { DeltaEndpointOptions } from "./delta-endpoint.ts";
export type { AnswerFeed, DeltaHub, UpdateFeed } from "./delta-hub.ts";
export { Deltas } from "./deltas.ts";
export type { RunDelta, ToolUpdate } from "./run-delta.ts";
