export { engineSuite } from "./engine-suite/index.ts";
export type { EngineCase, SuiteHarness } from "./engine-suite/harness.ts";
export { storeSuite } from "./store-suite/index.ts";
export type { StoreCase, StoreHarness } from "./store-suite/harness.ts";
