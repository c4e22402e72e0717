import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, type JsonObject } from "#kernel";

/** A Standard Schema that can be written as JSON Schema. */
type ObjectSchema<Value> = StandardSchemaV1<unknown, Value> & StandardJSONSchemaV1<unknown, Value>;

/**
 * Makes the schema of an object: the JSON Schema that a model is told, and the check of its answer, which returns the value
 * or a text that says what is wrong. The core has no schema library.
 */
export function objectSchema<Value extends object>(
  properties: JsonObject,
  check: (given: JsonObject) => Value | string,
): ObjectSchema<Value> {
  const schema = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (given) => {
        const value = isJsonObject(given) ? check(given) : "an object is needed";
        return typeof value === "string" ? { issues: [{ message: value }] } : { value };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
