import type { Micros } from "#kernel";

/** Tokens and money that belong together. */
export interface Amounts {
  readonly tokens: number;
  readonly costMicros: Micros;
}

/** Sums of {@link Amounts}. */
export const Amounts = {
  none: Object.freeze({ tokens: 0, costMicros: 0 }) satisfies Amounts,
  add: (a: Amounts, b: Amounts): Amounts => ({
    tokens: a.tokens + b.tokens,
    costMicros: a.costMicros + b.costMicros,
  }),
  subtract: (a: Amounts, b: Amounts): Amounts => ({
    tokens: a.tokens - b.tokens,
    costMicros: a.costMicros - b.costMicros,
  }),
  min: (a: Amounts, b: Amounts): Amounts => ({
    tokens: Math.min(a.tokens, b.tokens),
    costMicros: Math.min(a.costMicros, b.costMicros),
  }),
} as const;
