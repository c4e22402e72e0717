import { Json, type JsonObject } from "#kernel";
import { createObjectSchema, type JsonStandardSchema } from "./object-schema.ts";

/** A text field of a tool's input. */
interface TextField {
  readonly description: string;
  /** Maximum characters. */
  readonly max: number;
  /** The allowed values. Default: any. */
  readonly oneOf?: readonly string[];
}

type Texts<Name extends string> = Readonly<Record<Name, string>>;

/** Creates the schema of an object of texts, all of them required. */
export function textInput<Name extends string>(
  fields: Readonly<Record<Name, TextField>>,
): JsonStandardSchema<Texts<Name>> {
  const names = Object.keys(fields).filter((name): name is Name => name in fields);
  const properties: JsonObject = Object.fromEntries(
    names.map((name) => {
      const { description, max, oneOf } = fields[name];
      return [name, { type: "string", description, maxLength: max, ...(oneOf && { enum: [...oneOf] }) }];
    }),
  );
  const findProblem = (given: JsonObject, name: Name): readonly string[] => {
    const { max, oneOf } = fields[name];
    const value = given[name];
    if (typeof value !== "string") return [`${name} must be a string`];
    if (value.length > max) return [`${name} must have at most ${max} characters, got ${value.length}`];
    return oneOf && !oneOf.includes(value) ? [`${name} must be one of ${oneOf.join(", ")}`] : [];
  };
  return createObjectSchema<Texts<Name>>(properties, (given) => {
    const problems = names.flatMap((name) => findProblem(given, name));
    if (problems.length > 0) return problems.join("; ");
    return Json.as<Texts<Name>>(Object.fromEntries(names.map((name) => [name, given[name] ?? null])));
  });
}
