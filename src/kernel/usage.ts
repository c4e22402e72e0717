import type { Micros } from "./money.ts";
import { Price } from "./price.ts";

/** The tokens that one model call really used. `input` includes cached and written tokens, `output` includes reasoning. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  /** The part of `input` that came from the provider's cache. */
  readonly cachedInput?: number;
  /** The part of `input` that was written to the provider's cache. */
  readonly cacheWrite?: number;
}

const million = 1_000_000;

/** Sums and prices of {@link Usage}. */
export const Usage = {
  none: Object.freeze({ input: 0, output: 0 }) satisfies Usage,
  /** Tokens that count against a token budget. */
  tokens: (usage: Usage): number => usage.input + usage.output,
  /** Returns the cost of a call, rounded once. A call that used nothing costs nothing. */
  cost({ input, output, cachedInput = 0, cacheWrite = 0 }: Usage, price: Price): Micros {
    if (input === 0 && output === 0) return 0;
    const rates = Price.rates(price, input);
    const sum =
      (input - cachedInput - cacheWrite) * rates.input +
      cachedInput * (rates.cachedInput ?? rates.input) +
      cacheWrite * (rates.cacheWrite ?? rates.input) +
      output * rates.output;
    return Math.ceil(sum / million) + (price.request ?? 0);
  },
  /** Whether a provider's report can be booked: whole, not negative, the cached and written parts inside the input. */
  isSane: ({ input, output, cachedInput = 0, cacheWrite = 0 }: Usage): boolean =>
    Number.isSafeInteger(input) &&
    Number.isSafeInteger(output) &&
    Number.isSafeInteger(cachedInput) &&
    Number.isSafeInteger(cacheWrite) &&
    Math.min(input, output, cachedInput, cacheWrite) >= 0 &&
    cachedInput + cacheWrite <= input,
  add(a: Usage, b: Usage): Usage {
    const cacheWrite = (a.cacheWrite ?? 0) + (b.cacheWrite ?? 0);
    return {
      input: a.input + b.input,
      output: a.output + b.output,
      cachedInput: (a.cachedInput ?? 0) + (b.cachedInput ?? 0),
      ...(cacheWrite > 0 && { cacheWrite }),
    };
  },
} as const;
