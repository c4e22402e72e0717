import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, Json, type JsonObject } from "#kernel";

/** A schema that shows a JSON Schema to the model and takes any object: the server checks its input itself. */
export function toStandardObjectSchema(
  schema: JsonObject,
): StandardSchemaV1<unknown, Json> & StandardJSONSchemaV1<unknown, Json> {
  const shown = { ...schema, type: "object" };
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (value) => {
        const given = Json.of(value);
        return isJsonObject(given) ? { value: given } : { issues: [{ message: "must be an object" }] };
      },
      jsonSchema: { input: () => shown, output: () => shown },
    },
  };
}
