/** An amount of money: a whole number of millionths of a US dollar. */
export type Micros = number;

const million = 1_000_000;
/** The largest amount in dollars: its micro-dollars are still counted exactly. */
const maxUsd = Math.floor(Number.MAX_SAFE_INTEGER / million);

/** Arithmetic on {@link Micros}. Caps round down and charges round up, so rounding never overspends. */
export const Money = {
  maxUsd,
  /** Returns dollars as they were given. @throws RangeError unless they are a number from 0 to {@link Money.maxUsd}. */
  checkUsd: (name: string, usd: number): number => {
    if (typeof usd === "number" && usd >= 0 && usd <= maxUsd) return usd;
    throw new RangeError(`${name} must be a number from 0 to ${maxUsd}, got ${String(usd)}`);
  },
  /** Converts a cap in dollars. The tolerance removes binary rounding errors: 0.29 dollars is 290,000, not 289,999. */
  cap: (usd: number): Micros => Math.floor(usd * million + 1e-4),
  /** Converts to dollars, for display. */
  usd: (amount: Micros): number => amount / million,
  /** Returns the cost of `tokens` at `perMillion`, rounded up. */
  charge: (tokens: number, perMillion: Micros): Micros => Math.ceil((tokens * perMillion) / million),
} as const;
