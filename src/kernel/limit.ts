/** A request to a rate limit, granted completely or not at all: an amount of each unit, with its rate per minute. */
export interface RateRequest {
  readonly [unit: string]: { readonly amount: number; readonly perMinute: number };
}

/** The state of a rate limit. Plain data, for stores to keep. */
export interface LimitState {
  /** Remaining amount of each unit at `at`. Negative if more was used than taken. */
  readonly left: Readonly<Record<string, number>>;
  readonly at: number;
  /** No request is granted before this time. */
  readonly slowUntil: number;
}

const minuteMs = 60_000;

/** Token buckets, one for each unit: full at first, refilled evenly, capacity one minute's amount. */
export const LimitState = {
  none: Object.freeze<LimitState>({ left: {}, at: 0, slowUntil: 0 }),
  /** Returns the state after a request, and the milliseconds until a retry makes sense. 0: granted. */
  take: (
    state: LimitState,
    rate: RateRequest,
    now: number,
  ): { readonly state: LimitState; readonly waitMs: number } => {
    // Clocks of processes differ slightly, so time in a bucket never goes back.
    const at = Math.max(state.at, now);
    const left: Record<string, number> = { ...state.left };
    let waitMs = Math.max(0, state.slowUntil - now);
    for (const [unit, { amount, perMinute }] of Object.entries(rate)) {
      const filled = (left[unit] ?? perMinute) + ((at - state.at) / minuteMs) * perMinute;
      left[unit] = Math.min(perMinute, filled);
      // A request larger than the bucket is granted when the bucket is full: otherwise it would wait forever.
      const missing = Math.min(amount, perMinute) - left[unit];
      if (missing > 0) waitMs = Math.max(waitMs, Math.ceil((missing / perMinute) * minuteMs) + (at - now));
    }
    const taken = waitMs > 0 ? left : subtract(left, rate);
    return { state: { ...state, left: taken, at }, waitMs };
  },
  /** Books the difference between taken and used amounts: overuse is subtracted, unused amounts are returned. */
  correct: (state: LimitState, used: Readonly<Record<string, number>>): LimitState => {
    const left = { ...state.left };
    for (const [unit, amount] of Object.entries(used))
      if (unit in left) left[unit] = (left[unit] ?? 0) - amount;
    return { ...state, left };
  },
  /** Blocks requests until a moment. The latest moment wins. */
  slow: (state: LimitState, until: number): LimitState => ({
    ...state,
    slowUntil: Math.max(state.slowUntil, until),
  }),
} as const;

function subtract(left: Readonly<Record<string, number>>, rate: RateRequest): Record<string, number> {
  const rest = { ...left };
  for (const [unit, { amount }] of Object.entries(rate)) rest[unit] = (rest[unit] ?? 0) - amount;
  return rest;
}
