export type { GateLatency, Gauges } from "./gauges.ts";
export type { Log, LogRecord, LoggedError } from "./log-record.ts";
export type { MoveOptions, Moved } from "./move-runs.ts";
export type { RestateEngine } from "./restate-engine.ts";
export type { RestateOptions } from "./restate-options.ts";
export { restate } from "./restate.ts";
export { type RestateServer, type RestateServerOptions, restateServer } from "./restate-server.ts";
export { StartupError, type StartupProblem } from "./startup-error.ts";
