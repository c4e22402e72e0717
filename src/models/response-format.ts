import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { isJsonObject, Json, type JsonObject } from "#kernel";

/** The way a model receives the schema of its answer: in a request field, or in the prompt. */
export type StructuredOutput = "native" | "prompt";

/** Providers whose packages pass a schema on, together with tools. */
const nativeProviders: ReadonlySet<string> = new Set(["openai", "anthropic"]);

/**
 * Returns how a model receives the schema of its answer. The AI SDK has no field for it that all models have: packages
 * for compatible servers declare `supportsStructuredOutputs`, others are recognised by provider.
 */
export function structuredOutputOf(model: { readonly provider: string }): StructuredOutput {
  const says = "supportsStructuredOutputs" in model ? model.supportsStructuredOutputs : undefined;
  const isNative = says === true || nativeProviders.has(model.provider.split(".")[0] ?? "");
  return isNative ? "native" : "prompt";
}

/** Tokens that a package may add around a schema: it may send it as a tool, whose preamble has up to 530. */
const tokensAround = 768;

/** Returns an upper bound of the tokens that a schema in a request adds. Packages repeat some keywords as text. */
export function schemaBound(schema: JsonObject): number {
  return tokensAround + 2 * Buffer.byteLength(JSON.stringify(schema));
}

/** The fields of a call that carry a schema. */
export interface SchemaFields {
  readonly responseFormat: Extract<LanguageModelV4CallOptions["responseFormat"], { type: "json" }>;
  /** Options that the schema needs. */
  readonly options: JsonObject;
}

/**
 * Returns the fields for a schema. Objects that do not mention further properties are closed, as providers require.
 * OpenAI enforces a schema only if all properties are required; any other schema is sent as a hint.
 */
export function schemaFields(schema: JsonObject): SchemaFields {
  const closed = closeSchema(schema);
  return {
    responseFormat: { type: "json", name: "answer", schema: Json.as(closed) },
    options: isStrict(closed) ? {} : { openai: { strictJsonSchema: false } },
  };
}

function closeSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(closeSchema);
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).map(([name, field = null]) => [name, closeSchema(field)] as const);
  const isOpen = isJsonObject(value["properties"]) && value["additionalProperties"] === undefined;
  return { ...Object.fromEntries(fields), ...(isOpen && { additionalProperties: false }) };
}

function isStrict(value: Json): boolean {
  if (Array.isArray(value)) return value.every(isStrict);
  if (!isJsonObject(value)) return true;
  const properties = value["properties"];
  const required = value["required"];
  const isComplete =
    !isJsonObject(properties) ||
    Object.keys(properties).every((name) => Array.isArray(required) && required.includes(name));
  const isClosed = value["type"] !== "object" || value["additionalProperties"] === false;
  return isComplete && isClosed && Object.values(value).every((field) => isStrict(field ?? null));
}
