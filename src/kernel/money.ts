/** An amount of money: a whole number of millionths of a US dollar. */
export type Micros = number;

/** What a model costs, in micro-dollars for a million tokens. */
export interface Price {
  readonly input: Micros;
  readonly output: Micros;
  /** Input read from the provider's cache. Default: `input`. */
  readonly cachedInput?: Micros;
}

/** What one model call really used. `input` includes cached tokens, `output` includes reasoning. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  /** The part of `input` that came from the provider's cache. */
  readonly cachedInput?: number;
}

const million = 1_000_000;

/** Arithmetic on {@link Micros}. Caps round down and charges round up, so rounding never overspends. */
export const Money = {
  /** A cap given in dollars. The tolerance removes binary dust: 0.29 dollars is 290,000, not 289,999. */
  cap: (usd: number): Micros => Math.floor(usd * million + 1e-4),
  /** Dollars, for people. */
  usd: (amount: Micros): number => amount / million,
  /** What `tokens` cost at `perMillion`, rounded up. */
  charge: (tokens: number, perMillion: Micros): Micros => Math.ceil((tokens * perMillion) / million),
} as const;

/** Sums and prices of {@link Usage}. */
export const Usage = {
  none: Object.freeze({ input: 0, output: 0 }) satisfies Usage,
  /** Tokens that count against a token budget. */
  tokens: (usage: Usage): number => usage.input + usage.output,
  /** What a call cost: one rounding for the whole call. */
  cost: ({ input, output, cachedInput = 0 }: Usage, price: Price): Micros =>
    Math.ceil(
      ((input - cachedInput) * price.input +
        cachedInput * (price.cachedInput ?? price.input) +
        output * price.output) /
        million,
    ),
  /** Whether a provider's report can be booked: whole, not negative, the cached part inside the input. */
  isSane: ({ input, output, cachedInput = 0 }: Usage): boolean =>
    [input, output, cachedInput].every((count) => Number.isSafeInteger(count) && count >= 0) &&
    cachedInput <= input,
  add: (a: Usage, b: Usage): Usage => ({
    input: a.input + b.input,
    output: a.output + b.output,
    cachedInput: (a.cachedInput ?? 0) + (b.cachedInput ?? 0),
  }),
} as const;
