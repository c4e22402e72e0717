import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, Json, type JsonObject, type Model } from "#kernel";
import { errorMessage } from "#base";
import { strictJson } from "#models";
import { jsonSchemaOf } from "../tools/tool.ts";

/** The schema of an agent's answer. */
export interface OutputForm {
  readonly schema: StandardSchemaV1;
  /** The JSON Schema for the model. */
  readonly jsonSchema: JsonObject;
  /** Whether it is sent with the request. If not, the system message states it. */
  readonly native: boolean;
}

/** Constructors and readers of {@link OutputForm}. */
export const OutputForm = {
  /**
   * Creates the form. Providers take only objects natively. @throws TypeError if the schema cannot be written as JSON
   * Schema.
   */
  of: (agent: string, schema: StandardSchemaV1, { structuredOutput }: Model): OutputForm => {
    const jsonSchema = toJsonSchema(agent, schema);
    const native = structuredOutput === "native" && isJsonObject(jsonSchema["properties"]);
    return { schema, jsonSchema, native };
  },
  /** Returns the instruction that describes the form in text. */
  instruction: ({ jsonSchema }: OutputForm): string =>
    `Answer with one JSON value and nothing else. It must match this JSON Schema:\n${JSON.stringify(jsonSchema)}`,
} as const;

function toJsonSchema(agent: string, schema: StandardSchemaV1): JsonObject {
  try {
    return jsonSchemaOf(schema);
  } catch (error) {
    throw new TypeError(
      `the output schema of agent ${agent} cannot be written as JSON Schema: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

type CheckResult = { readonly value: Json } | { readonly issues: string };

/** Parses and checks a text answer. A code fence around it is accepted. */
export async function checkAnswer(schema: StandardSchemaV1, text: string): Promise<CheckResult> {
  const parsed = parseAnswer(text);
  if (parsed === undefined) return { issues: "it is not JSON" };
  const result = await schema["~standard"].validate(parsed);
  if (!result.issues) return { value: Json.of(result.value ?? null) };
  return { issues: result.issues.map(({ message, path }) => `${toIssuePath(path)}${message}`).join("; ") };
}

/** Parses JSON. Models often wrap it in a code fence. */
function parseAnswer(text: string): Json | undefined {
  const inner = /```(?:json)?([\s\S]*?)```/.exec(text)?.[1] ?? text;
  const read = strictJson(inner.trim());
  return "value" in read ? read.value : undefined;
}

function toIssuePath(path: StandardSchemaV1.Issue["path"]): string {
  if (!path || path.length === 0) return "";
  return `${path.map((part) => String(typeof part === "object" ? part.key : part)).join(".")}: `;
}
