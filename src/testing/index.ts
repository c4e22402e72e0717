export { faultyModel, type FaultPlan } from "./faulty-model.ts";
export { heldModel, type HeldCall, type HeldModel } from "./held-model.ts";
export { manualClock, type ManualClock } from "./manual-clock.ts";
export {
  recordModel,
  RecordingDriftError,
  replayModel,
  type RecordedCall,
  type RecordingModel,
} from "./recorded-model.ts";
export { call, fail, say, scriptedModel, type ScriptedAnswer, type ScriptedModel } from "./scripted-model.ts";
export {
  answers,
  byModel,
  countTokens,
  DoubleMessage,
  echo,
  obedient,
  providerDouble,
  type Bill,
  type BillEntry,
  type BillFilter,
  type BillTotal,
  type DoubleAnswer,
  type DoubleCall,
  type DoublePart,
  type DoubleRequest,
  type DoubleScript,
  type DoubleTool,
  type Fault,
  type FaultKind,
  type FlightEvent,
  type InFlight,
  type PromptCacheOptions,
  type ProviderDouble,
  type ProviderDoubleOptions,
  type Wire,
} from "./provider-double/index.ts";
export { testRuntime, type TestRuntime, type TestRuntimeOptions } from "./test-runtime.ts";
