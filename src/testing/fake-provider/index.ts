export type { Bill, BillEntry, BillFilter, BillTotal } from "./bill.ts";
export type { ProviderAnswer, ProviderCall } from "./provider-answer.ts";
export {
  ProviderMessage,
  type ProviderPart,
  type ProviderRequest,
  type ProviderTool,
  type Wire,
} from "./provider-request.ts";
export { answers, byModel, type ProviderScript, echo, commandScript } from "./provider-script.ts";
export type { Fault, FaultKind } from "./fault.ts";
export type { FlightEvent, InFlight } from "./in-flight.ts";
export type { PromptCacheOptions } from "./prompt-cache.ts";
export { fakeProvider, type FakeProvider, type FakeProviderOptions } from "./fake-provider.ts";
export { countTokens } from "./tokenizer.ts";
