/** What survives a round trip through JSON unchanged. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. An absent field and an `undefined` one are the same. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The two places where a value crosses between our types and JSON. */
export const Json = {
  /** A value of ours that holds nothing but JSON: interfaces lack the index signature that would prove it. */
  of: (value: unknown): Json => value as Json,
  /** What our own writers made of a `T`. Data from elsewhere is decoded, not trusted. */
  as: <T>(value: Json | undefined): T => value as T,
} as const;

/** Whether a decoded JSON value is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The keys of a record, with their brand. */
export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}
