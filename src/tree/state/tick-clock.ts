/** Workers whose clocks differ by more than this get times that go back. */
const maxSkewMs = 60_000;

/**
 * Returns the tree's time: the engine's, which does not go back by less than `maxSkewMs`. A tree that was ahead by more
 * has worked on a worker with a wrong clock, and returns to the right time.
 */
export const tickClock = (before: number, now: number): number =>
  before > now + maxSkewMs ? now : Math.max(before, now);

/** Returns the time that a run states for its own past: after it was hired, and not far ahead of the tree's time. */
export const statedTime = (
  at: number,
  { hiredAt, now }: { readonly hiredAt: number; readonly now: number },
): number => Math.min(Math.max(at, hiredAt), now + maxSkewMs);
