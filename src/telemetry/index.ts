export { DerivedIds } from "./derived-ids.ts";
export { Telemetry, type TelemetryOptions } from "./telemetry.ts";
