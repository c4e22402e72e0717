/** Returns a value as text: a text unchanged, anything else as JSON; undefined as null. */
export const valueText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);
