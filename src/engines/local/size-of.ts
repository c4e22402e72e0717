import type { Json } from "#kernel";

/** Returns about how many bytes the JSON text of a value has, without making that text. */
export function sizeOf(value: Json | undefined): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 4;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) bytes += sizeOf(item) + 1;
    return bytes;
  }
  for (const [name, field] of Object.entries(value)) bytes += name.length + 4 + sizeOf(field);
  return bytes;
}
