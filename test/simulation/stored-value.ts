import { isJsonObject, type Json } from "#kernel";

/** Returns a stored value without its protocol number. */
export const openStored = (stored: Json): Json =>
  isJsonObject(stored) && "v" in stored ? (stored["value"] ?? null) : stored;

/** A stored value with another content under the same protocol number. */
export const mapStored = (stored: Json, edit: (value: Json) => Json): Json =>
  isJsonObject(stored) && "v" in stored ? { ...stored, value: edit(stored["value"] ?? null) } : stored;
