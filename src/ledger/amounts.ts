import type { Micros } from "#kernel";

/** Tokens and money that belong together. */
export interface Amounts {
  readonly tokens: number;
  readonly cost: Micros;
}

/** Sums of {@link Amounts}. */
export const Amounts = {
  none: Object.freeze({ tokens: 0, cost: 0 }) satisfies Amounts,
  add: (a: Amounts, b: Amounts): Amounts => ({ tokens: a.tokens + b.tokens, cost: a.cost + b.cost }),
  subtract: (a: Amounts, b: Amounts): Amounts => ({ tokens: a.tokens - b.tokens, cost: a.cost - b.cost }),
} as const;
