import { TooLargeError, type NumberedEvent, type ObjectContext } from "#kernel";

/*
 * What a caller hands to a tree is measured before the tree does anything with it. So a value that is too large fails the
 * call that brought it. Were it found out when the state is written, the object could answer no further call: Restate
 * retries a message over 32 MiB for ever.
 */

/** The most that an event may carry. Events are read in batches, and stored for good. */
export const maxEventBytes = 256_000;

/** The most metadata that a tree may be started with: every run of the tree is launched with it. */
export const maxMetadataBytes = 64_000;

/** The most that a message, a task, a signal, an approval or the output of a run may have. */
export const maxItemBytes = ({ maxValueBytes }: ObjectContext): number => Math.floor(maxValueBytes / 2);

const encoder = new TextEncoder();

/** Whether the JSON text of a value has more than so many bytes; then returns how many, else null. */
function excess(value: unknown, limit: number): number | null {
  const text = JSON.stringify(value ?? null);
  // No character has more than 3 bytes for each unit of its length.
  if (text.length * 3 <= limit) return null;
  const bytes = encoder.encode(text).length;
  return bytes > limit ? bytes : null;
}

/** Returns why a value cannot be accepted; null if it can. */
export function findExcess(what: string, value: unknown, limit: number): TooLargeError | null {
  const bytes = excess(value, limit);
  return bytes === null ? null : new TooLargeError({ what, bytes, limit });
}

/** @throws TooLargeError */
export function checkSize(what: string, value: unknown, limit: number): void {
  const error = findExcess(what, value, limit);
  if (error) throw error;
}

/** Longer texts of an event that is too large are cut. */
const maxTextCharacters = 4_000;

/** Whether an event is so short that its bytes need not be counted: as most events, it holds numbers and short texts. */
function isShort(event: NumberedEvent): boolean {
  let characters = 0;
  for (const name in event) {
    const value: unknown = Reflect.get(event, name);
    if (typeof value === "object" && value !== null) return false;
    if (typeof value === "string") characters += value.length;
  }
  return characters < maxTextCharacters;
}

/** Cuts the texts of an event that is too large, such as the message of an error that quotes a whole page. */
export function fitEvent(event: NumberedEvent): NumberedEvent {
  if (isShort(event) || excess(event, maxEventBytes) === null) return event;
  const error = "error" in event && event.error ? { error: { ...event.error } } : {};
  if (error.error) {
    const { code, message = "" } = error.error;
    return fitEvent(Object.assign({}, event, { error: { code, message: cut(message) } }));
  }
  const fields = Object.entries(event).map(([name, value]) => [
    name,
    typeof value === "string" ? cut(value) : value,
  ]);
  return Object.assign({}, event, Object.fromEntries(fields));
}

function cut(text: string): string {
  const rest = text.length - maxTextCharacters;
  return rest <= 0 ? text : `${text.slice(0, maxTextCharacters)} [${rest} more characters left out]`;
}
