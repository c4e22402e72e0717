export type { GateLatency, Gauges } from "./operations/gauges.ts";
export type { Log, LogRecord, LoggedError } from "./operations/log-record.ts";
export type { MoveOptions, MoveResult } from "./operations/move-runs.ts";
export type { RestateEngine } from "./restate-engine.ts";
export type { RestateOptions } from "./restate-options.ts";
export { restate } from "./restate.ts";
export { type RestateServer, type RestateServerOptions, restateServer } from "./operations/restate-server.ts";
export { StartupError, type StartupProblem } from "./operations/startup-error.ts";
