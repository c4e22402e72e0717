import type { Micros } from "./money.ts";

/** Micro-dollars for a million tokens. */
export interface Rates {
  readonly input: Micros;
  readonly output: Micros;
  /** Input read from the provider's cache. Default: `input`. */
  readonly cachedInput?: Micros;
  /** Input written to the provider's cache. Default: `input`. */
  readonly cacheWrite?: Micros;
}

/** Rates for a whole call, output included, whose prompt is longer than `aboveInputTokens`. */
interface PriceTier extends Rates {
  readonly aboveInputTokens: number;
}

/** The price of a model. A reservation is made at the dearest rates that can apply. */
export interface Price extends Rates {
  /** Micro-dollars per request, independent of its length. Default: 0. */
  readonly request?: Micros;
  /** Default: none. The tier with the highest `aboveInputTokens` below the prompt's length counts. */
  readonly tiers?: readonly PriceTier[];
}

const million = 1_000_000;
const rateNames = ["input", "output", "cachedInput", "cacheWrite"] as const;

/** Readers of {@link Price}. */
export const Price = {
  /** Returns the name under which a model's price is stored: two providers may charge differently for one model id. */
  key: ({ id, provider = "" }: { readonly id: string; readonly provider?: string | undefined }): string =>
    `${provider}/${id}`,

  /** Returns the rates of a call with a prompt of `inputTokens`. */
  rates(price: Price, inputTokens: number): Rates {
    let rates: Rates = price;
    let above = -1;
    for (const tier of price.tiers ?? []) {
      if (tier.aboveInputTokens >= inputTokens || tier.aboveInputTokens <= above) continue;
      rates = tier;
      above = tier.aboveInputTokens;
    }
    return rates;
  },

  /** Returns the highest rates of a call with a prompt of at most `inputTokens`, cached, written or neither. */
  dearest(price: Price, inputTokens: number): Pick<Rates, "input" | "output"> {
    const reached = (price.tiers ?? []).filter((tier) => tier.aboveInputTokens < inputTokens);
    const possible: readonly Rates[] = [price, ...reached];
    return {
      input: Math.max(
        ...possible.flatMap(({ input, cachedInput = 0, cacheWrite = 0 }) => [input, cachedInput, cacheWrite]),
      ),
      output: Math.max(...possible.map(({ output }) => output)),
    };
  },

  /** Returns the maximum cost of a call with at most these tokens. */
  maxCost(price: Price, tokens: { readonly input: number; readonly output: number }): Micros {
    const { input, output } = Price.dearest(price, tokens.input);
    return Math.ceil((tokens.input * input + tokens.output * output) / million) + (price.request ?? 0);
  },

  /** Returns the first invalid field with its value. Null if there is none. */
  fault(price: Price): string | null {
    for (const [place, rates] of [["", price] as const, ...tiersOf(price)]) {
      const name = rateNames.find((each) => !isAmount(rates[each] ?? defaultOf(each)));
      if (name) return `${place}${name} must be a finite number >= 0, got ${String(rates[name])}`;
    }
    for (const [place, { aboveInputTokens }] of tiersOf(price))
      if (!isCount(aboveInputTokens))
        return `${place}aboveInputTokens must be an integer >= 0, got ${aboveInputTokens}`;
    if (price.request !== undefined && !isCount(price.request))
      return `request must be an integer >= 0, got ${price.request}`;
    return null;
  },

  /** @throws TypeError for a price that cannot be booked. */
  check(price: Price, model: string): Price {
    const fault = Price.fault(price);
    if (fault !== null) throw new TypeError(`the price of ${model} is not valid: ${fault}`);
    return price;
  },

  /**
   * Merges two prices of one model. A price without `cacheWrite` comes from a caller that never writes to the cache, so
   * it agrees with one that has it. Null: the prices differ.
   */
  join(a: Price, b: Price): Price | null {
    if (form(a) === form(b)) return a;
    if (form(withoutWrites(a)) !== form(withoutWrites(b))) return null;
    if (form(a) === form(withoutWrites(a))) return b;
    return form(b) === form(withoutWrites(b)) ? a : null;
  },
} as const;

function tiersOf({ tiers = [] }: Price): readonly (readonly [place: string, tier: PriceTier])[] {
  return tiers.map((tier, index) => [`tiers[${index}].`, tier]);
}

/** Returns the default of a rate. Undefined: the rate is required. */
function defaultOf(name: (typeof rateNames)[number]): Micros | undefined {
  return name === "cachedInput" || name === "cacheWrite" ? 0 : undefined;
}

function withoutWrites(price: Price): Price {
  const { cacheWrite: _written, tiers = [], ...rest } = price;
  return { ...rest, tiers: tiers.map(({ cacheWrite: _tierWritten, ...tier }) => tier) };
}

/** Returns a canonical text: equal for prices that charge the same. */
function form({ request = 0, tiers = [], ...base }: Price): string {
  const ordered = tiers.toSorted((one, other) => one.aboveInputTokens - other.aboveInputTokens);
  return JSON.stringify([request, ratesForm(base), ordered.map(tierForm)]);
}

const tierForm = (tier: PriceTier): readonly unknown[] => [tier.aboveInputTokens, ratesForm(tier)];

const ratesForm = ({ input, output, cachedInput = input, cacheWrite }: Rates): readonly unknown[] => [
  input,
  output,
  cachedInput,
  cacheWrite ?? null,
];

const isAmount = (value: unknown): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
