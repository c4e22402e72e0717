/** The latest moment that a `Date` can hold, in milliseconds since 1970. */
const maxMoment = 8_640_000_000_000_000;

/** The longest duration, in the unit of its field: a moment that far ahead still fits into a `Date`. */
export const maxDuration = 1_000_000_000_000;

/** Returns a moment as it was given. @throws RangeError unless it is a number of milliseconds that a `Date` can hold. */
export function checkMoment(name: string, at: number): number {
  if (typeof at !== "number" || !(Math.abs(at) <= maxMoment))
    throw new RangeError(`${name} must be a time in milliseconds since 1970, got ${String(at)}`);
  return at;
}

/**
 * Returns a duration as it was given; the name ends with its unit.
 * @throws RangeError unless it is a number from `min` (default 0) to 1e12.
 */
export function checkDuration(
  name: string,
  duration: number,
  { min = 0 }: { readonly min?: number } = {},
): number {
  if (typeof duration !== "number" || !(duration >= min && duration <= maxDuration))
    throw new RangeError(`${name} must be a number from ${min} to 1e12, got ${String(duration)}`);
  return duration;
}
