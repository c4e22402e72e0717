import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, Json } from "#kernel";

/** A text of a tool's input. */
interface TextField {
  readonly description: string;
  /** The longest text, in characters. */
  readonly max: number;
  /** The only values. Default: any. */
  readonly oneOf?: readonly string[];
}

type Texts<Name extends string> = Readonly<Record<Name, string>>;
type TextInput<Name extends string> = StandardSchemaV1<unknown, Texts<Name>> &
  StandardJSONSchemaV1<unknown, Texts<Name>>;

/** Makes the schema of an object of texts, all of them required. The core has no schema library. */
export function textInput<Name extends string>(fields: Readonly<Record<Name, TextField>>): TextInput<Name> {
  const names = Object.keys(fields).filter((name): name is Name => name in fields);
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => {
        const { description, max, oneOf } = fields[name];
        return [name, { type: "string", description, maxLength: max, ...(oneOf && { enum: [...oneOf] }) }];
      }),
    ),
    required: names,
    additionalProperties: false,
  };
  const read = (given: unknown, name: Name): string | { readonly problem: string } => {
    const { max, oneOf } = fields[name];
    const value = isJsonObject(given) ? given[name] : undefined;
    if (typeof value !== "string") return { problem: `${name}: a text is needed` };
    if (value.length > max) return { problem: `${name}: at most ${max} characters, got ${value.length}` };
    if (oneOf && !oneOf.includes(value)) return { problem: `${name}: one of ${oneOf.join(", ")}` };
    return value;
  };
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (given) => {
        const texts = names.map((name) => [name, read(given, name)] as const);
        const issues = texts.flatMap(([, text]) =>
          typeof text === "string" ? [] : [{ message: text.problem }],
        );
        return issues.length > 0 ? { issues } : { value: Json.as(Json.of(Object.fromEntries(texts))) };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
