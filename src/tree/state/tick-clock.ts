/** Workers whose clocks differ by more than this get times that go back. */
export const maxSkewMs = 60_000;

/**
 * Returns the tree's time: the engine's, which does not go back by less than `maxSkewMs`. A tree that was ahead by more
 * has worked on a worker with a wrong clock, and returns to the right time.
 */
export const tickClock = (before: number, now: number): number =>
  before > now + maxSkewMs ? now : Math.max(before, now);
