import { isJsonObject, Json, type JsonObject } from "#kernel";

/** Readers of external JSON: a value of an unexpected form reads as empty. */
export const read = {
  object: (value: unknown): JsonObject => (isJsonObject(value) ? value : {}),
  list: (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []),
  text: (value: unknown): string => (typeof value === "string" ? value : ""),
  /** The field at the end of a path; null if it is not there. */
  path: (value: unknown, ...path: readonly string[]): Json =>
    path.reduce((inner, name) => read.object(inner)[name] ?? null, Json.of(value)),
  number: (value: unknown): number | null => (typeof value === "number" ? value : null),
  /** Tool arguments: JSON in a string. Text that cannot be parsed remains a string. */
  arguments: (value: unknown): Json => {
    const text = read.text(value);
    try {
      return Json.of(JSON.parse(text));
    } catch {
      return text;
    }
  },
} as const;
