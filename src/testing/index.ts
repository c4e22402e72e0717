export { faultyModel, type FaultPlan } from "./faulty-model.ts";
export { manualModel, type ManualCall, type ManualModel } from "./manual-model.ts";
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
  ProviderMessage,
  echo,
  commandScript,
  fakeProvider,
  type Bill,
  type BillEntry,
  type BillFilter,
  type BillTotal,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderPart,
  type ProviderRequest,
  type ProviderScript,
  type ProviderTool,
  type Fault,
  type FaultKind,
  type FlightEvent,
  type InFlight,
  type PromptCacheOptions,
  type FakeProvider,
  type FakeProviderOptions,
  type Wire,
} from "./fake-provider/index.ts";
export { testRuntime, type TestRuntime, type TestRuntimeOptions } from "./test-runtime.ts";
