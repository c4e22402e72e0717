import { TooLargeError, type NumberedEvent, type ObjectContext } from "#kernel";

/*
 * Size checks of a tree's input. A caller's value is measured before the tree uses it, so a value that is too large
 * fails the call that brought it. If it were found when the state is written, the object could answer no further call:
 * Restate retries a message over 32 MiB forever.
 */

/** Maximum bytes of an event. Events are read in batches, and stored permanently. */
export const maxEventBytes = 256_000;

/** Maximum bytes of a tree's metadata: every run of the tree is launched with it. */
export const maxMetadataBytes = 64_000;

/** Returns the maximum bytes of a message, a task, a signal, an approval or the output of a run. */
export const maxItemBytes = ({ maxValueBytes }: ObjectContext): number => Math.floor(maxValueBytes / 2);

const encoder = new TextEncoder();

/** Maximum bytes of a character in JSON text: an escape, or UTF-8. */
const bytesPerCharacter = 6;

/** Maximum bytes of a number or a constant, with the punctuation of a field. */
const bytesPerField = 32;

/**
 * Returns an upper bound of the bytes of a value's JSON text. Most values are so short that the bound is enough, and it
 * makes no text. A value with deeper objects has no bound, and a bound above the limit is not completed.
 */
function boundBytes(
  value: unknown,
  { limit, depth }: { readonly limit: number; readonly depth: number },
): number {
  if (typeof value === "string") return value.length * bytesPerCharacter + bytesPerField;
  if (typeof value !== "object" || value === null) return bytesPerField;
  if (depth === 0) return Infinity;
  let bytes = bytesPerField * (Array.isArray(value) ? value.length + 1 : 1);
  // A long list is over the limit by its length alone. `for...in` would first create a key for every item.
  if (bytes > limit) return bytes;
  for (const name in value) {
    const field: unknown = Reflect.get(value, name);
    bytes += name.length * bytesPerCharacter + bytesPerField;
    if (typeof field === "string") bytes += field.length * bytesPerCharacter;
    else if (typeof field === "object" && field !== null)
      bytes += boundBytes(field, { limit, depth: depth - 1 });
    if (bytes > limit) return bytes;
  }
  return bytes;
}

/** Returns the bytes of a value's JSON text if they exceed the limit. Null if not. */
function excess(value: unknown, limit: number): number | null {
  if (boundBytes(value, { limit, depth: 3 }) <= limit) return null;
  const text = JSON.stringify(value ?? null);
  // UTF-8 uses at most 3 bytes per UTF-16 code unit.
  if (text.length * 3 <= limit) return null;
  const bytes = encoder.encode(text).length;
  return bytes > limit ? bytes : null;
}

/** Returns the error for a value that is too large. Null if it is not. */
export function findExcess(what: string, value: unknown, limit: number): TooLargeError | null {
  const bytes = excess(value, limit);
  return bytes === null ? null : new TooLargeError({ what, bytes, limit });
}

/** Checks the size of a value. @throws TooLargeError */
export function checkSize(what: string, value: unknown, limit: number): void {
  const error = findExcess(what, value, limit);
  if (error) throw error;
}

/** Maximum length of a text in an event that is too large. Longer texts are cut. */
const maxTextCharacters = 4_000;

/** Cuts the texts of an event that is too large, such as an error message that quotes a whole page. */
export function fitEvent(event: NumberedEvent): NumberedEvent {
  if (excess(event, maxEventBytes) === null) return event;
  const error = "error" in event && event.error ? { error: { ...event.error } } : {};
  if (error.error) {
    const { code, message = "" } = error.error;
    return fitEvent(Object.assign({}, event, { error: { code, message: cutText(message) } }));
  }
  const fields = Object.entries(event).map(([name, value]) => [
    name,
    typeof value === "string" ? cutText(value) : value,
  ]);
  return Object.assign({}, event, Object.fromEntries(fields));
}

function cutText(text: string): string {
  const rest = text.length - maxTextCharacters;
  return rest <= 0 ? text : `${text.slice(0, maxTextCharacters)} [${rest} more characters left out]`;
}
