import { isJsonObject, type Json, type JsonObject } from "#kernel";

/*
 * Records of live runs are stored without the fields that have their default: a tree of 1,000 runs is loaded, sealed and written
 * at a third of the size. A default is part of the stored format: a change of one takes an upgrade of stored values.
 * A record that has all of its fields, as earlier code has written it, is read as it is.
 */

/** Returns the fields of a value that differ from their default, in nested objects, too. */
export function omitDefaults(value: JsonObject, defaults: JsonObject): JsonObject {
  const kept: Record<string, Json> = {};
  for (const name of Object.keys(value)) {
    const field = value[name];
    const byDefault = defaults[name];
    if (field === undefined || isSame(field, byDefault)) continue;
    if (!isJsonObject(field) || !isJsonObject(byDefault)) {
      kept[name] = field;
      continue;
    }
    const differing = omitDefaults(field, byDefault);
    if (Object.keys(differing).length > 0) kept[name] = differing;
  }
  return kept;
}

/** Returns a value with the defaults of the fields that it lacks, in nested objects, too. */
export function addDefaults(value: JsonObject, defaults: JsonObject): JsonObject {
  const complete: Record<string, Json | undefined> = { ...defaults, ...value };
  for (const name of Object.keys(value)) {
    const [field, byDefault] = [value[name], defaults[name]];
    if (isJsonObject(field) && isJsonObject(byDefault)) complete[name] = addDefaults(field, byDefault);
  }
  return complete;
}

/** Whether two values are the same, or lists of the same values. Objects are compared by their fields elsewhere. */
function isSame(one: Json, other: Json | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
