export { modelsIn, PriceList } from "./call-estimate.ts";
export { callLimited } from "./extension-calls.ts";
export { createMoves } from "./extension-context.ts";
export type { ConversationAccess, ExtensionHost } from "./extension-host.ts";
export { execute } from "./execute.ts";
export { nameFiles } from "./read-files.ts";
export { createPromptDeps, type PromptDeps } from "./section-cache.ts";
export { ScopedMemory } from "./scoped-memory.ts";
export { currentScope } from "./step.ts";
