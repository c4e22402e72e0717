import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, type JsonObject } from "#kernel";

/** A Standard Schema that can be written as JSON Schema. */
export type JsonStandardSchema<Value> = StandardSchemaV1<unknown, Value> &
  StandardJSONSchemaV1<unknown, Value>;

/** Creates a Standard Schema from a JSON Schema and a check. The core has no schema library. */
export function toStandardSchema<Value>(
  schema: JsonObject,
  validate: StandardSchemaV1<unknown, Value>["~standard"]["validate"],
): JsonStandardSchema<Value> {
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate,
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

/**
 * Creates the schema of an object: the JSON Schema for the model, and the check of its answer. The check returns the
 * value, or a text with the problem. `required`: the names of its required properties. Default: all.
 */
export function createObjectSchema<Value extends object>(
  properties: JsonObject,
  check: (given: JsonObject) => Value | string,
  required: readonly string[] = Object.keys(properties),
): JsonStandardSchema<Value> {
  const schema = { type: "object", properties, required, additionalProperties: false };
  return toStandardSchema(schema, (given) => {
    const value = isJsonObject(given) ? check(given) : "must be an object";
    return typeof value === "string" ? { issues: [{ message: value }] } : { value };
  });
}
