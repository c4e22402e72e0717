import type { Json, Tool } from "reeve";

const call = {
  signal: new AbortController().signal,
  idempotencyKey: "key",
  traceparent: "",
  update: () => undefined,
  memory: null,
  resumed: null,
  llm: () => Promise.reject(new Error("no model")),
};

/** Calls a tool as a run does: the input is validated first. @throws Error where it is refused or fails. */
export async function callTool(tool: Tool, input: Json, signal: AbortSignal = call.signal): Promise<unknown> {
  if (!("execute" in tool)) throw new TypeError(`${tool.name} is not an effect`);
  const checked = await tool.input["~standard"].validate(input);
  if (checked.issues) throw new Error(`bad input: ${checked.issues[0]?.message}`);
  return tool.execute(checked.value, { ...call, signal });
}

/** Calls a tool. Returns its result, or the message of its error. */
export async function tryTool(tool: Tool, input: Json): Promise<string> {
  try {
    return JSON.stringify(await callTool(tool, input)) ?? "null";
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
}
