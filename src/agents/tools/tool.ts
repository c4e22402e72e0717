import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkDuration, isJsonObject, Json, type JsonObject, type Tool, type ToolDescription } from "#kernel";
import { isToolName, toolNameRule } from "./tool-name.ts";

/**
 * Defines a tool. With `execute` it has its side effects in one step; with `run` it is agent code that may spawn and
 * ask.
 */
export function tool<Input>(definition: Tool<Input>): Tool<Input> {
  if (!isToolName(definition.name))
    throw new TypeError(`invalid tool name ${JSON.stringify(definition.name)}: ${toolNameRule}`);
  if ("execute" in definition === "run" in definition)
    throw new TypeError(`tool ${definition.name} must have either execute or run`);
  if ("timeoutS" in definition) checkDuration("timeoutS", definition.timeoutS ?? 0);
  return Object.freeze({ ...definition });
}

/**
 * Returns the description of a tool for a model. The same object for the same tool, so that it is created and measured
 * once.
 */
export function describeTool(given: Tool): ToolDescription {
  const known = described.get(given);
  if (known) return known;
  const { name, description, input } = given;
  const fresh = { name, description, inputSchema: jsonSchemaOf(input) };
  described.set(given, fresh);
  return fresh;
}

const described = new WeakMap<Tool, ToolDescription>();

/** Returns the JSON Schema of a schema, if it has one. Otherwise anything is allowed, and validation still applies. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject {
  const standard: object = schema["~standard"];
  if (!("jsonSchema" in standard)) return { type: "object" };
  const { jsonSchema } = standard as { readonly jsonSchema: { input(options: { target: string }): unknown } };
  const { $schema: _, ...made } = Json.as<Record<string, Json>>(
    Json.of(jsonSchema.input({ target: "draft-07" })),
  );
  return isJsonObject(made) ? made : { type: "object" };
}
