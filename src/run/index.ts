export { modelsIn, PriceList } from "./call-estimate.ts";
export { execute } from "./execute.ts";
export { nameFiles } from "./read-files.ts";
export { createPromptDeps, type PromptDeps } from "./section-cache.ts";
export { ScopedMemory } from "./scoped-memory.ts";
export { toDisabledError } from "./held-step.ts";
export { SwitchCache } from "./switch-cache.ts";
export { currentScope } from "./step.ts";
