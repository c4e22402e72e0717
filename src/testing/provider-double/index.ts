export type { Bill, BillEntry, BillFilter, BillTotal } from "./bill.ts";
export type { DoubleAnswer, DoubleCall } from "./double-answer.ts";
export {
  DoubleMessage,
  type DoublePart,
  type DoubleRequest,
  type DoubleTool,
  type Wire,
} from "./double-request.ts";
export { answers, byModel, type DoubleScript, echo, obedient } from "./double-script.ts";
export type { Fault, FaultKind } from "./fault.ts";
export type { FlightEvent, InFlight } from "./in-flight.ts";
export type { PromptCacheOptions } from "./prompt-cache.ts";
export { providerDouble, type ProviderDouble, type ProviderDoubleOptions } from "./provider-double.ts";
export { countTokens } from "./tokenizer.ts";
