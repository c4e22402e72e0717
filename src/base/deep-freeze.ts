/**
 * Freezes a value with everything in it, including values inside objects that are frozen already. Bytes cannot be
 * frozen.
 */
export function deepFreeze<Value>(value: Value): Value {
  const open: unknown[] = [value];
  /** Objects that were already frozen when they were reached: by an earlier call, or by this one in a cycle. */
  let frozen: Set<object> | null = null;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null || ArrayBuffer.isView(next)) continue;
    if (Object.isFrozen(next)) {
      frozen ??= new Set();
      if (frozen.has(next)) continue;
      frozen.add(next);
    } else Object.freeze(next);
    for (const inner of Object.values(next)) if (typeof inner === "object") open.push(inner);
  }
  return value;
}
