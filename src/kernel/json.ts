/** A value that survives a round trip through JSON unchanged. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. An absent field and an `undefined` one are the same. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/**
 * The type of a value after a round trip through JSON: dates are text, interfaces are plain objects, and what JSON
 * cannot hold is never there.
 */
export type Jsonified<T> = unknown extends T
  ? Json
  : T extends Json
    ? T
    : T extends { toJSON(): infer Encoded }
      ? Jsonified<Encoded>
      : T extends object
        ? { readonly [Key in keyof T]: Jsonified<T[Key]> }
        : T extends undefined
          ? undefined
          : never;

/** The two functions that convert between our types and JSON. */
export const Json = {
  /** Converts a typed value that holds only JSON. Interfaces lack the index signature that would prove it. */
  of: (value: unknown): Json => value as Json,
  /** Converts JSON that our own code wrote from a `T`. Foreign data is decoded instead. */
  as: <T>(value: Json | undefined): T => value as T,
} as const;

/** Whether a decoded JSON value is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the keys of a record, with their brand. */
export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}

/** Maximum nesting. Deeper values overflow the stack of some encoder. */
const maxDepth = 1_000;

/**
 * Returns the position and reason why a value cannot be encoded as JSON, for example `.rows[2].id is a bigint`. Null if
 * it can. Functions and `undefined` inside objects are left out, as in `JSON.stringify`. Objects that `JSON.stringify`
 * would silently turn into `{}` are refused.
 */
export function findJsonProblem(value: unknown): string | null {
  try {
    return typeof value === "function" || typeof value === "symbol"
      ? ` is a ${typeof value}`
      : findProblem(value, 0);
  } catch (error) {
    return ` cannot be read: ${describeThrown(error)}`;
  }
}

function findProblem(value: unknown, depth: number): string | null {
  if (typeof value === "bigint") return " is a bigint";
  if (typeof value !== "object" || value === null) return null;
  if (depth > maxDepth) return ` is nested deeper than ${maxDepth} levels, or refers to itself`;
  if ("toJSON" in value && typeof value.toJSON === "function") return findProblem(value.toJSON(), depth + 1);
  for (const [kind, remedy] of lossyKinds) if (value instanceof kind) return ` is ${remedy}`;
  for (const key of Object.keys(value)) {
    const inner: unknown = Reflect.get(value, key);
    if (typeof inner === "string" || typeof inner === "number") continue;
    const problem = findProblem(inner, depth + 1);
    if (problem !== null)
      return depth < 8 ? `${Array.isArray(value) ? `[${key}]` : `.${key}`}${problem}` : problem;
  }
  return null;
}

/** Objects that `JSON.stringify` encodes as `{}` although they hold something, each with the remedy. */
const lossyKinds = [
  [Map, "a Map: use Object.fromEntries(map)"],
  [Set, "a Set: use [...set]"],
  [Promise, "a promise: await it"],
  [Error, "an Error: use its message, or throw it"],
] as const;

/** Returns the message of an error, if it can be read. */
function describeThrown(error: unknown): string {
  try {
    return error instanceof Error ? error.message : "it throws";
  } catch {
    return "it throws";
  }
}
