import { isJsonObject, Json, type JsonObject } from "#kernel";

/** Readers of decoded JSON from elsewhere: what is not of the expected form reads as empty. */
export const read = {
  object: (value: unknown): JsonObject => (isJsonObject(value) ? value : {}),
  list: (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []),
  text: (value: unknown): string => (typeof value === "string" ? value : ""),
  number: (value: unknown): number | null => (typeof value === "number" ? value : null),
  /** Tool arguments: JSON in a string. What cannot be parsed stays a string. */
  arguments: (value: unknown): Json => {
    const text = read.text(value);
    try {
      return Json.of(JSON.parse(text));
    } catch {
      return text;
    }
  },
} as const;
