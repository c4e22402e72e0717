import type { Json } from "#kernel";

/**
 * Returns what a round trip through JSON text would make of a value, without the text: later changes of the original
 * do not reach the copy, and values that JSON cannot express are gone. Strings are shared, so a long one costs nothing.
 */
export function copyJson(value: unknown): Json {
  return copied(value) ?? null;
}

/** Undefined for what JSON leaves out. */
function copied(value: unknown): Json | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return copiedItems(value);
      return isPlain(value) ? copiedFields(value) : throughText(value);
    case "undefined":
      return undefined;
    case "bigint":
    case "function":
    case "symbol":
      return throughText(value);
  }
}

function copiedItems(from: readonly unknown[]): Json {
  const to: Json[] = [];
  // Holes are nulls, and an iterator would cost more than the copy.
  for (let index = 0; index < from.length; index++) to.push(copyJson(from[index]));
  return to;
}

function copiedFields(from: Readonly<Record<string, unknown>>): Json {
  const to: Record<string, Json> = {};
  for (const name in from) {
    const field = copied(from[name]);
    if (field !== undefined) to[name] = field;
  }
  return to;
}

/** Dates, classes, big integers, and names that mean something to an object: rare, so JSON itself says what they are. */
function throughText(value: unknown): Json | undefined {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return undefined;
  const parsed: Json = JSON.parse(text);
  return parsed;
}

function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    !("toJSON" in value) &&
    !Object.hasOwn(value, "__proto__")
  );
}
