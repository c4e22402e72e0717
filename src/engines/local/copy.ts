import type { Json } from "#kernel";

/**
 * The round trip through JSON that a wire would make, without the text: what goes in is out of its owner's reach, and
 * what JSON cannot say is gone. Words are shared, so a long text costs nothing.
 */
export function copy(value: unknown): Json {
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
  for (let index = 0; index < from.length; index++) to.push(copy(from[index]));
  return to;
}

function copiedFields(from: object): Json {
  const to: Record<string, Json> = {};
  for (const name in from) {
    const field = copied((from as Record<string, unknown>)[name]);
    if (field !== undefined) to[name] = field;
  }
  return to;
}

/** Dates, classes, big integers, and names that mean something to an object: rare, so JSON itself says what they are. */
function throughText(value: unknown): Json | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : (JSON.parse(text) as Json);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    !("toJSON" in value) &&
    !Object.hasOwn(value, "__proto__")
  );
}
