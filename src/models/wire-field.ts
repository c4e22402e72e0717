/** A field of something that came from outside: whatever it is, and undefined where there is none. */
export function wireField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** The same, where words are expected: empty where there are none. */
export function wireText(value: unknown, name: string): string {
  const text = wireField(value, name);
  return typeof text === "string" ? text : "";
}
