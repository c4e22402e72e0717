import { Json, type EffectCall, type EffectTool } from "#kernel";

/** A safe tool that takes anything. */
export function effect(
  name: string,
  execute: (input: Json, call: EffectCall) => Promise<Json>,
  rest: Pick<EffectTool, "idempotent" | "onUnknown" | "timeoutS"> = {},
): EffectTool<Json> {
  return {
    name,
    description: name,
    risk: "safe",
    input: { "~standard": { version: 1, vendor: "reeve", validate: (value) => ({ value: Json.of(value) }) } },
    execute,
    ...rest,
  };
}
