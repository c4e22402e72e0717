import { isJsonObject, type Json, type JsonObject } from "#kernel";

/*
 * Compact records of live runs: fields with their default value are not stored. A tree of 1,000 runs is loaded, sealed
 * and written at a third of the size. A default is part of the stored format, so changing one requires an upgrade of
 * stored values. A record with all fields, as earlier code wrote it, is read unchanged.
 */

/** Returns the fields of a value that differ from their default, including nested objects. */
export function omitDefaults(value: JsonObject, defaults: JsonObject): JsonObject {
  const kept: Record<string, Json> = {};
  for (const name of Object.keys(value)) {
    const field = value[name];
    const byDefault = defaults[name];
    if (field === undefined || isEqualRow(field, byDefault)) continue;
    if (!isJsonObject(field) || !isJsonObject(byDefault)) {
      kept[name] = field;
      continue;
    }
    const differing = omitDefaults(field, byDefault);
    if (Object.keys(differing).length > 0) kept[name] = differing;
  }
  return kept;
}

/** Returns a value with defaults for its missing fields, including nested objects. */
export function addDefaults(value: JsonObject, defaults: JsonObject): JsonObject {
  const complete: Record<string, Json | undefined> = { ...defaults, ...value };
  for (const name of Object.keys(value)) {
    const [field, byDefault] = [value[name], defaults[name]];
    if (isJsonObject(field) && isJsonObject(byDefault)) complete[name] = addDefaults(field, byDefault);
  }
  return complete;
}

/** Whether two values are equal, or lists of equal values. Objects are compared field by field elsewhere. */
function isEqualRow(one: Json, other: Json | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
