import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, type JsonObject } from "#kernel";

/** A Standard Schema that can be written as JSON Schema. */
type ObjectInput<Value> = StandardSchemaV1<unknown, Value> & StandardJSONSchemaV1<unknown, Value>;

/** The input of a tool: an object. */
interface ObjectShape<Value> {
  /** JSON Schemas of the properties, as the model is shown them. */
  readonly properties: JsonObject;
  /** Names of the properties that must be there. */
  readonly required: readonly string[];
  /** Returns the value, or a text with the problem. */
  readonly check: (given: JsonObject) => Value | string;
}

/** Makes the schema of a tool's input. The core has no schema library. */
export function objectInput<Value extends object>(shape: ObjectShape<Value>): ObjectInput<Value> {
  const { properties, required, check } = shape;
  const schema = { type: "object", properties, required: [...required], additionalProperties: false };
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (given) => {
        const value = isJsonObject(given) ? check(given) : "must be an object";
        return typeof value === "string" ? { issues: [{ message: value }] } : { value };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
