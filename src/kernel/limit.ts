/** What somebody wants of a limit, all of it or nothing: so much of each unit, of which there is so much a minute. */
export interface LimitWish {
  readonly [unit: string]: { readonly amount: number; readonly perMinute: number };
}

/** How far a limit is used. Plain data, for stores to keep. */
export interface LimitState {
  /** Left of each unit at `at`; below zero where more was used than was taken. */
  readonly left: Readonly<Record<string, number>>;
  readonly at: number;
  /** Nothing may be taken before. */
  readonly slowUntil: number;
}

const minuteMs = 60_000;

/** Every limit is a bucket for each unit: full at first, filled evenly, never more than a minute's worth. */
export const LimitState = {
  none: Object.freeze<LimitState>({ left: {}, at: 0, slowUntil: 0 }),
  /** The state after a try, and the milliseconds until another is worth it; 0: taken. */
  take: (
    state: LimitState,
    wish: LimitWish,
    now: number,
  ): { readonly state: LimitState; readonly waitMs: number } => {
    // Clocks of processes differ a little: time in a bucket never goes back.
    const at = Math.max(state.at, now);
    const left: Record<string, number> = { ...state.left };
    let waitMs = Math.max(0, state.slowUntil - now);
    for (const [unit, { amount, perMinute }] of Object.entries(wish)) {
      const filled = (left[unit] ?? perMinute) + ((at - state.at) / minuteMs) * perMinute;
      left[unit] = Math.min(perMinute, filled);
      // A wish larger than the bucket is granted when that is full: else it would wait for ever.
      const missing = Math.min(amount, perMinute) - left[unit];
      if (missing > 0) waitMs = Math.max(waitMs, Math.ceil((missing / perMinute) * minuteMs) + (at - now));
    }
    const taken = waitMs > 0 ? left : subtract(left, wish);
    return { state: { ...state, left: taken, at }, waitMs };
  },
  /** What was used above what was taken goes off; what was not used comes back. */
  correct: (state: LimitState, used: Readonly<Record<string, number>>): LimitState => {
    const left = { ...state.left };
    for (const [unit, amount] of Object.entries(used))
      if (unit in left) left[unit] = (left[unit] ?? 0) - amount;
    return { ...state, left };
  },
  /** The later moment holds. */
  slow: (state: LimitState, until: number): LimitState => ({
    ...state,
    slowUntil: Math.max(state.slowUntil, until),
  }),
} as const;

function subtract(left: Readonly<Record<string, number>>, wish: LimitWish): Record<string, number> {
  const rest = { ...left };
  for (const [unit, { amount }] of Object.entries(wish)) rest[unit] = (rest[unit] ?? 0) - amount;
  return rest;
}
