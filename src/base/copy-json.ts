import type { Json } from "#kernel";

/**
 * Converts a value that is not plain to JSON: a class instance, a function, a number that is not finite. Undefined:
 * left out.
 */
type Convert = (value: unknown) => Json | undefined;

/**
 * Returns the result of a round trip through JSON text, without creating the text. Later changes of the original do not
 * reach the copy, and values that JSON cannot express are left out. Strings are shared, so a long one costs nothing.
 * Every property is read once.
 */
export function copyJson(value: unknown): Json {
  return copyValue(value, throughText) ?? null;
}

/** Copies like `copyJson`. @throws TypeError for a value that a round trip would change. */
export function copyPlainJson(value: unknown): Json {
  return copyValue(value, throwNotJson) ?? null;
}

/** Copies a value. Undefined for values that JSON leaves out. */
function copyValue(value: unknown, convert: Convert): Json | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : convert(value);
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? copyItems(value, convert) : copyFields(value, convert);
    case "undefined":
      return undefined;
    case "bigint":
    case "function":
    case "symbol":
      return convert(value);
  }
}

function copyItems(from: readonly unknown[], convert: Convert): Json {
  const to: Json[] = [];
  // Holes are nulls, and an iterator would cost more than the copy.
  for (let index = 0; index < from.length; index++) {
    const item = from[index];
    const isObject = typeof item === "object" && item !== null && !Array.isArray(item);
    to.push((isObject ? copyFields(item, convert) : copyValue(item, convert)) ?? null);
  }
  return to;
}

/** Copies an object. Converts one that is not plain. */
function copyFields(from: object, convert: Convert): Json | undefined {
  const prototype: unknown = Object.getPrototypeOf(from);
  const isPlain =
    (prototype === Object.prototype || prototype === null) &&
    !("toJSON" in from) &&
    !Object.hasOwn(from, "__proto__");
  if (!isPlain) return convert(from);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every object has fields of unknown types
  const fields = from as Readonly<Record<string, unknown>>;
  const to: Record<string, Json> = {};
  for (const name in fields) {
    const field = fields[name];
    // Most fields hold no further values: these are copied without a call.
    if (typeof field === "string" || typeof field === "boolean" || field === null) to[name] = field;
    else if (typeof field === "number" && Number.isFinite(field)) to[name] = field + 0;
    else if (Array.isArray(field)) to[name] = copyItems(field, convert);
    else if (field !== undefined) {
      const copy = typeof field === "object" ? copyFields(field, convert) : copyValue(field, convert);
      if (copy !== undefined) to[name] = copy;
    }
  }
  return to;
}

/**
 * Converts dates, class instances, big integers, and special property names. These are rare, so JSON itself decides.
 */
function throughText(value: unknown): Json | undefined {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return undefined;
  const parsed: Json = JSON.parse(text);
  return parsed;
}

function throwNotJson(value: unknown): never {
  const kind = typeof value === "object" ? Object.prototype.toString.call(value).slice(8, -1) : typeof value;
  const shown =
    typeof value === "number"
      ? `the number ${value}`
      : kind === "Object"
        ? "an object of a class"
        : `a ${kind}`;
  throw new TypeError(`${shown} is not JSON: use text, finite numbers, lists and plain objects`);
}
