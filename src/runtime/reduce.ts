import { isJsonObject, Json, StoreRejectionError, toLine } from "#kernel";

const maxText = 256;
const maxItems = 20;

/** Called after a value was written in reduced form. */
export type OnReduced = (error: StoreRejectionError) => Promise<void>;

/**
 * Writes a value. If the store rejects it for good, it is written in reduced form, and `onReduced` gets the error. @throws
 * the error of the store if it does not even take that.
 */
export async function writeOrReduce<T>(
  value: T,
  write: (value: T) => Promise<unknown>,
  { shrink, onReduced }: { readonly shrink: (value: T) => T; readonly onReduced: OnReduced },
): Promise<void> {
  try {
    await write(value);
  } catch (error) {
    if (!StoreRejectionError.is(error)) throw error;
    await write(shrink(value));
    await onReduced(error);
  }
}

/** Returns a value that fits into any column: texts are short lines, numbers whole and exact, lists short. */
export const reduce = <T>(value: T): T => Json.as(reduceJson(Json.of(value)));

function reduceJson(value: Json): Json {
  if (typeof value === "string") return toLine(value).slice(0, maxText);
  if (typeof value === "number") return reduceNumber(value);
  if (Array.isArray(value)) return value.slice(0, maxItems).map(reduceJson);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, field === undefined ? field : reduceJson(field)]),
  );
}

const reduceNumber = (value: number): number =>
  Math.trunc(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER)));
