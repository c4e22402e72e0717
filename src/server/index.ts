export { apiKeys, createApiKey, type ApiKeySource, type NewApiKey } from "./api-keys.ts";
export { serverApp, type ServerOptions } from "./app.ts";
export type { Auth, Principal, Scope } from "./auth.ts";
export type { DevTools, FaultKind } from "./dev-tools.ts";
export type { Limits } from "./limits.ts";
export type { MountedCall, MountedTree, ServerMount } from "./mount.ts";
export type { MountedDecision, MountedRun } from "./mounted-run.ts";
export type { PageOptions } from "./page-files.ts";
export { listen, type Listener, type ListenOptions } from "./listen.ts";
