/** Limits of a JSON value from outside, because code that walks it needs a stack frame per level and time per key. */
export interface JsonLimits {
  /** Maximum levels of lists and objects. */
  readonly maxDepth: number;
  /** Maximum keys of all objects together. */
  readonly maxKeys: number;
}

/**
 * Returns the limit that a decoded JSON value exceeds. Null if it exceeds none. Not recursive, so any depth is safe.
 */
export function findExcess(value: unknown, { maxDepth, maxKeys }: JsonLimits): keyof JsonLimits | null {
  let keys = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const below: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      if (depth === maxDepth) return "maxDepth";
      const inner = Object.values(item);
      if (!Array.isArray(item)) keys += inner.length;
      if (keys > maxKeys) return "maxKeys";
      for (const each of inner) if (typeof each === "object") below.push(each);
    }
    level = below;
  }
  return null;
}
