import type { StandardSchemaV1 } from "@standard-schema/spec";
import { Json, type JsonObject } from "#kernel";
import { errorMessage, issueText } from "#base";
import { Pass } from "./handoffs/pass.ts";
import { jsonSchemaOf } from "./tools/tool.ts";

/** The data of a task, or its problems. */
type ParsedTask = { readonly data: Json } | { readonly issues: string };

/** Checks the data of a task against the input schema of an agent. */
export async function parseTask(schema: StandardSchemaV1, data: unknown): Promise<ParsedTask> {
  const result = await schema["~standard"].validate(data);
  if (result.issues) return { issues: issueText(result.issues) };
  const value = Json.of(result.value ?? null);
  return Pass.isReserved(value) ? { issues: "~handoff is a reserved name" } : { data: value };
}

/**
 * Returns the input schema of an agent as JSON Schema. @throws TypeError unless it describes an object: tools take no
 * other.
 */
export function inputSchemaOf(agent: string, schema: StandardSchemaV1): JsonObject {
  const made = toJsonSchema(agent, schema);
  if (made["type"] !== "object")
    throw new TypeError(`the input schema of agent ${agent} must describe an object`);
  return made;
}

function toJsonSchema(agent: string, schema: StandardSchemaV1): JsonObject {
  try {
    return jsonSchemaOf(schema);
  } catch (error) {
    throw new TypeError(
      `the input schema of agent ${agent} cannot be written as JSON Schema: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}
