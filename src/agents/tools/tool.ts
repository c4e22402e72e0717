import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  isJsonObject,
  Json,
  type EffectTool,
  type JsonObject,
  type RunTool,
  type Tool,
  type ToolDescription,
} from "#kernel";

const named = /^[a-zA-Z0-9_-]{1,64}$/;

/** A tool that touches the world: one step. */
export function tool<Input>(definition: EffectTool<Input>): EffectTool<Input>;
/** A tool that is agent code: it may hire, wait and ask. */
export function tool<Input>(definition: RunTool<Input>): RunTool<Input>;
export function tool<Input>(definition: Tool<Input>): Tool<Input> {
  if (!named.test(definition.name))
    throw new TypeError(`not a tool's name: ${JSON.stringify(definition.name)}`);
  return Object.freeze({ ...definition });
}

/** What a model is told about a tool. The same object for the same tool, so that it is described and measured once. */
export function describe(given: Tool): ToolDescription {
  const known = described.get(given);
  if (known) return known;
  const { name, description, input } = given;
  const fresh = { name, description, inputSchema: jsonSchemaOf(input) };
  described.set(given, fresh);
  return fresh;
}

const described = new WeakMap<Tool, ToolDescription>();

/** The JSON Schema of a schema, where it can tell; else anything goes, and validation still holds. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject {
  const standard: object = schema["~standard"];
  if (!("jsonSchema" in standard)) return { type: "object" };
  const { jsonSchema } = standard as { readonly jsonSchema: { input(options: { target: string }): unknown } };
  const { $schema: _, ...made } = Json.as<Record<string, Json>>(
    Json.of(jsonSchema.input({ target: "draft-07" })),
  );
  return isJsonObject(made) ? made : { type: "object" };
}
