import type { StandardSchemaV1 } from "@standard-schema/spec";
import { Json, type EffectCall, type EffectTool, type JsonObject, type ToolFlow } from "#kernel";
import { toShown } from "./ai-sdk-output.ts";

/** The supported part of an AI SDK tool object. */
export interface AiSdkTool {
  readonly description?: string | ((...given: never[]) => unknown) | undefined;
  readonly inputSchema?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  /** Converts the tool's output to the model's content. Default: the output as JSON. */
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/**
 * Converts AI SDK tools. They cannot state a risk, so it is `high`: they require approval. They cannot state the origin
 * of their results, so those are untrusted and public unless the options differ. They cannot state that they are
 * idempotent, so a call with an unknown outcome is reported, not repeated.
 */
export function aiSdkTools(
  tools: Readonly<Record<string, AiSdkTool>>,
  { origin, trust = "untrusted", sensitivity, egress }: ToolFlow = {},
): readonly EffectTool[] {
  return Object.entries(tools).map(([name, given]) => {
    const { execute } = given;
    if (!execute)
      throw new TypeError(`tool ${name} has no execute: tools that the provider runs are not supported`);
    const run = execute as (input: unknown, options: unknown) => unknown;
    const toModelOutput = given.toModelOutput as ((options: unknown) => unknown) | undefined;
    return {
      name,
      description: typeof given.description === "string" ? given.description : name,
      input: schemaOf(given.inputSchema),
      risk: "high",
      origin,
      trust,
      sensitivity,
      egress,
      execute: async (input, { signal, idempotencyKey, update }) => {
        const made = run(input, { abortSignal: signal, toolCallId: idempotencyKey, messages: [] });
        const output = (await readLastValue(made, update)) ?? null;
        const shown = await toModelOutput?.({ toolCallId: idempotencyKey, input, output });
        return shown === undefined ? Json.of(output) : toShown(shown, Json.of(output));
      },
    };
  });
}

/** Returns the last value of a tool that may stream. Publishes every value as progress. */
async function readLastValue(result: unknown, update: EffectCall["update"]): Promise<unknown> {
  const isStream = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  if (!isStream) return result;
  let value: unknown = null;
  for await (const next of result as AsyncIterable<unknown>) {
    value = next;
    update(next);
  }
  return value;
}

/**
 * Returns a Standard Schema unchanged, and converts the SDK's own wrapper (a JSON Schema, perhaps with a validator) to
 * one.
 */
function schemaOf(given: unknown): StandardSchemaV1<unknown, unknown> {
  if (typeof given === "function") return schemaOf((given as () => unknown)());
  if (typeof given === "object" && given !== null) {
    if ("~standard" in given) return given as StandardSchemaV1<unknown, unknown>;
    if ("jsonSchema" in given) return wrapSchema(given as WrappedSchema);
  }
  return wrapSchema({ jsonSchema: { type: "object" } });
}

interface WrappedSchema {
  readonly jsonSchema: JsonObject | PromiseLike<JsonObject>;
  readonly validate?: (value: unknown) => ValidationResult | PromiseLike<ValidationResult>;
}

type ValidationResult =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

function wrapSchema(schema: WrappedSchema): StandardSchemaV1<unknown, unknown> {
  const standard = {
    version: 1,
    vendor: "ai-sdk",
    validate: async (value: unknown) => {
      const result = (await schema.validate?.(value)) ?? { success: true, value };
      return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
    },
    jsonSchema: { input: () => schema.jsonSchema },
  } as const;
  return { "~standard": standard };
}
