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
    const { cachedInput = 0, cacheWrite = 0, tiers = [] } = price;
    let input = Math.max(price.input, cachedInput, cacheWrite);
    let { output } = price;
    for (const tier of tiers) {
      if (tier.aboveInputTokens >= inputTokens) continue;
      input = Math.max(input, tier.input, tier.cachedInput ?? 0, tier.cacheWrite ?? 0);
      output = Math.max(output, tier.output);
    }
    return { input, output };
  },

  /** Returns the maximum cost of a call with at most these tokens. */
  maxCost(price: Price, tokens: { readonly input: number; readonly output: number }): Micros {
    const { input, output } = Price.dearest(price, tokens.input);
    return Math.ceil((tokens.input * input + tokens.output * output) / million) + (price.request ?? 0);
  },

  /** Returns the first invalid field with its value. Null if there is none. */
  fault(price: Price): string | null {
    const fault = findRateFault(price, "");
    if (fault !== null) return fault;
    for (const [index, tier] of (price.tiers ?? []).entries()) {
      const place = `tiers[${index}].`;
      const tierFault = findRateFault(tier, place);
      if (tierFault !== null) return tierFault;
      if (!isCount(tier.aboveInputTokens))
        return `${place}aboveInputTokens must be an integer >= 0, got ${tier.aboveInputTokens}`;
    }
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
    if (hasSameRates(a, b) || form(a) === form(b)) return a;
    if (form(withoutWrites(a)) !== form(withoutWrites(b))) return null;
    if (form(a) === form(withoutWrites(a))) return b;
    return form(b) === form(withoutWrites(b)) ? a : null;
  },
} as const;

/** Returns the first invalid rate with its value. Null if there is none. `input` and `output` are required. */
function findRateFault(rates: Rates, place: string): string | null {
  for (const name of rateNames) {
    const isRequired = name === "input" || name === "output";
    const rate = rates[name] ?? (isRequired ? undefined : 0);
    if (typeof rate !== "number" || !Number.isFinite(rate) || rate < 0)
      return `${place}${name} must be a finite number >= 0, got ${String(rates[name])}`;
  }
  return null;
}

/** Whether two prices without tiers have the same fields. */
const hasSameRates = (a: Price, b: Price): boolean =>
  !a.tiers &&
  !b.tiers &&
  a.input === b.input &&
  a.output === b.output &&
  a.cachedInput === b.cachedInput &&
  a.cacheWrite === b.cacheWrite &&
  a.request === b.request;

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

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
