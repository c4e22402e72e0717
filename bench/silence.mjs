/** Peers measure themselves and talk about it: not here. */
export function silence() {
  Object.assign(process.env, {
    OTEL_SDK_DISABLED: "true",
    LANGSMITH_TRACING: "false",
    OPENAI_AGENTS_DISABLE_TRACING: "1",
    MASTRA_TELEMETRY_DISABLED: "1",
    VOLTAGENT_TELEMETRY_DISABLED: "1",
  });
  console.warn = () => undefined;
  console.info = () => undefined;
}
