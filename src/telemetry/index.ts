export { DerivedIds } from "./derived-ids.ts";
export type { StepContent } from "./content-attributes.ts";
export { Telemetry, type TakeOptions, type TelemetryOptions } from "./telemetry.ts";
