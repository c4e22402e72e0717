export { engineSuite } from "./engine-suite/index.ts";
export type { EngineCase, SuiteHarness } from "./engine-suite/harness.ts";
export { heldModel, type HeldCall, type HeldModel } from "./held-model.ts";
export { manualClock, type ManualClock } from "./manual-clock.ts";
export { fail, say, scriptedModel, type ScriptedAnswer, type ScriptedModel } from "./scripted-model.ts";
