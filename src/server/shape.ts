import { isJsonObject, isLine, Json, type JsonObject, maxDuration, Money, Priority } from "#kernel";
import { HttpError } from "./http-error.ts";

/** A strict decoder of external input, with its JSON Schema. */
export interface Shape<T> {
  readonly schema: JsonObject;
  /** @throws HttpError that says where it does not fit, and never what was there. */
  decode(value: unknown, at: string): T;
}

/** The type that a shape decodes to. */
export type Decoded<S> = S extends Shape<infer T> ? T : never;

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Optional<T> = Shape<T | undefined> & { readonly isOptional: true };
type DecodedFields<F extends Fields> = {
  readonly [Name in keyof F as F[Name] extends Optional<unknown> ? never : Name]: Decoded<F[Name]>;
} & {
  readonly [Name in keyof F as F[Name] extends Optional<unknown> ? Name : never]?: Exclude<
    Decoded<F[Name]>,
    undefined
  >;
};

/** An object with exactly these fields. */
export interface ObjectShape<T> extends Shape<T> {
  readonly fields: Fields;
}

/** Reports the position and the expectation, not the value, which may be a secret. */
export function refuseRequest(at: string, expected: string): never {
  throw new HttpError("invalid-request", `${at}: ${expected}`);
}

/** Decoders of requests. */
export const shape = {
  text: ({ max = 256 }: { readonly max?: number } = {}): Shape<string> => ({
    schema: { type: "string", minLength: 1, maxLength: max },
    decode: (value, at) =>
      typeof value === "string" && value.length > 0 && value.length <= max
        ? value
        : refuseRequest(at, `must be a string of 1 to ${max} characters`),
  }),
  /** A name: one line without control characters. */
  line: ({ max = 256 }: { readonly max?: number } = {}): Shape<string> => ({
    schema: { type: "string", minLength: 1, maxLength: max },
    decode: (value, at) =>
      typeof value === "string" && value.length > 0 && value.length <= max && isLine(value)
        ? value
        : refuseRequest(at, `must be one line of 1 to ${max} characters`),
  }),
  integer: ({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Shape<number> => ({
    schema: { type: "integer", minimum: min, maximum: max },
    decode: (value, at) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
        ? value
        : refuseRequest(at, `must be an integer from ${min} to ${max}`),
  }),
  amount: (max: number): Shape<number> => ({
    schema: { type: "number", minimum: 0, maximum: max },
    decode: (value, at) =>
      typeof value === "number" && value >= 0 && value <= max
        ? value
        : refuseRequest(at, `must be a number from 0 to ${max}`),
  }),
  flag: (): Shape<boolean> => ({
    schema: { type: "boolean" },
    decode: (value, at) => (typeof value === "boolean" ? value : refuseRequest(at, "must be true or false")),
  }),
  oneOf: <const Word extends string>(words: readonly Word[]): Shape<Word> => ({
    schema: { type: "string", enum: words },
    decode: (value, at) =>
      words.find((word) => word === value) ?? refuseRequest(at, `must be one of ${words.join(", ")}`),
  }),
  /** Any parsed JSON value. */
  json: (): Shape<Json> => ({ schema: {}, decode: (value) => Json.of(value) }),
  /** An id, checked by its own constructor. */
  id: <Id extends string>(read: (text: string) => Id, what: string): Shape<Id> => ({
    schema: { type: "string" },
    decode: (value, at) => {
      try {
        if (typeof value === "string") return read(value);
      } catch {
        // Reported below.
      }
      return refuseRequest(at, `must be the id of ${what}`);
    },
  }),
  /** An object of any fields. */
  record: (): Shape<JsonObject> => ({
    schema: { type: "object" },
    decode: (value, at) => (isJsonObject(value) ? value : refuseRequest(at, "must be an object")),
  }),
  list: <T>(inner: Shape<T>): Shape<readonly T[]> => ({
    schema: { type: "array", items: inner.schema },
    decode: (value, at) =>
      Array.isArray(value)
        ? value.map((item: unknown) => inner.decode(item, at))
        : refuseRequest(at, "must be an array"),
  }),
  optional: <T>(inner: Shape<T>): Optional<T> => ({
    schema: inner.schema,
    isOptional: true,
    decode: (value, at) => (value === undefined ? undefined : inner.decode(value, at)),
  }),
  nullable: <T>(inner: Shape<T>): Shape<T | null> => ({
    schema: { anyOf: [inner.schema, { type: "null" }] },
    decode: (value, at) => (value === null ? null : inner.decode(value, at)),
  }),
  object: <const F extends Fields>(fields: F): ObjectShape<DecodedFields<F>> => ({
    fields,
    schema: toObjectSchema(fields),
    decode: (value, at) => decodeObject(fields, value, at),
  }),
} as const;

/** An amount of money in dollars. */
export const dollars = shape.amount(Money.maxUsd);
/** A duration in seconds. */
export const seconds = shape.amount(maxDuration);
export const priority = shape.oneOf(Priority.all);

const isOptional = (field: Shape<unknown>): boolean => "isOptional" in field;

function toObjectSchema(fields: Fields): JsonObject {
  const required = Object.keys(fields).filter((name) => fields[name] && !isOptional(fields[name]));
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
  return {
    type: "object",
    additionalProperties: false,
    properties,
    ...(required.length > 0 && { required }),
  };
}

function decodeObject<F extends Fields>(fields: F, value: unknown, at: string): DecodedFields<F> {
  if (!isJsonObject(value)) return refuseRequest(at, "must be an object");
  for (const name of Object.keys(value))
    if (!Object.hasOwn(fields, name)) refuseField(at, name, Object.keys(fields));
  const decoded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const found = field.decode(Object.hasOwn(value, name) ? value[name] : undefined, `${at}.${name}`);
    if (found !== undefined) decoded[name] = found;
  }
  // Each field was decoded by the shape that gave it its type.
  return Json.as(Json.of(decoded));
}

/** The key alone determines the tenant. */
function refuseField(at: string, name: string, fields: readonly string[]): never {
  if (namesTenant(name)) refuseTenant(at);
  refuseRequest(
    at,
    `unknown field ${JSON.stringify(name.slice(0, 64))}; fields: ${fields.join(", ") || "none"}`,
  );
}

export const namesTenant = (name: string): boolean => /tenant/i.test(name);

export function refuseTenant(at: string): never {
  throw new HttpError(
    "tenant-not-allowed",
    `${at}: the request must not name a tenant: the key determines it`,
  );
}

/** Decodes a query string. Each name may occur once, and unknown names are refused. */
export function decodeQuery<T>(query: ObjectShape<T>, given: URLSearchParams): T {
  const found = new Map<string, unknown>();
  for (const [name, text] of given) {
    if (found.has(name)) refuseRequest("query", `${JSON.stringify(name.slice(0, 64))} is given twice`);
    found.set(name, fromText(query.fields[name]?.schema["type"], text));
  }
  return query.decode(Object.fromEntries(found), "query");
}

function fromText(type: Json | undefined, text: string): unknown {
  if (type === "integer" || type === "number") return /^\d{1,16}(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}
