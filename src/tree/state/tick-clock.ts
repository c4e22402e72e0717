/** Maximum tolerated clock skew between workers. With more, a tree's time may go back. */
const maxSkewMs = 60_000;

/**
 * Returns the tree's time: the engine's time, but not earlier than the last one within `maxSkewMs`. A tree that is
 * ahead by more was on a worker with a wrong clock, and returns to the right time.
 */
export const tickClock = (before: number, now: number): number =>
  before > now + maxSkewMs ? now : Math.max(before, now);

/**
 * Returns the time that a run states for its own past, limited to between its spawn and `maxSkewMs` after the tree's
 * time.
 */
export const statedTime = (
  at: number,
  { spawnedAt, now }: { readonly spawnedAt: number; readonly now: number },
): number => Math.min(Math.max(at, spawnedAt), now + maxSkewMs);
