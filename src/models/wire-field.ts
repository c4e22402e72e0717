/** Returns a field of an external value of any type. Undefined if there is none. */
export function wireField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Returns a text field of an external value. Empty if there is none. */
export function wireText(value: unknown, name: string): string {
  const text = wireField(value, name);
  return typeof text === "string" ? text : "";
}
