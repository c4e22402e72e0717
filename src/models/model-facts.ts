import {
  calcPrice,
  findProvider,
  type ConditionalPrice,
  type MatchLogic,
  type ModelInfo,
  type ModelPrice,
} from "@pydantic/genai-prices";
import type { Micros, Model, Price, Rates } from "#kernel";

/** Maps AI SDK provider names to those of the price list. */
const lists: Readonly<Record<string, string>> = {
  "amazon-bedrock": "aws",
  bedrock: "aws",
  vertex: "google",
  xai: "x-ai",
  togetherai: "together",
};

/** Suffixes that do not change the model: a date, a version, "latest". */
const suffixes = [/-v\d+(?::\d+)?$/, /[-@](?:20\d{6}|20\d\d-\d\d-\d\d)$/, /[-@](?:latest|default)$/] as const;

/** The identity of a model. */
export type ModelName = Pick<Model, "id" | "provider">;

/** Facts beyond the model that change its price. */
export interface PriceCircumstances {
  /** Prices that go before the list, by `provider/id` or by id. */
  readonly overrides?: Readonly<Record<string, Price>> | undefined;
  /**
   * Whether the prompt is written to the provider's cache, which costs more than reading it. Default: `none` for
   * Claude, where it must be requested; `5m` for every other model with such a price, where it is automatic.
   */
  readonly cacheWrites?: "none" | "5m" | "1h" | undefined;
  /** No prompt is longer than this: price tiers that begin beyond it do not count. Default: all count. */
  readonly longestPrompt?: number | undefined;
  /** Price changes after this moment do not count yet. Milliseconds since 1970. Default: all announced ones count. */
  readonly now?: number | undefined;
}

/** The entry of a public price list for a model. */
export interface ModelFacts {
  /** Never less than the actual charge: of several prices for one prompt, the highest. Null if unknown. */
  readonly price: Price | null;
  readonly contextWindow: number | null;
}

/** Returns the maximum price of a model. Null if unknown: the list also guesses by name, and guesses are not used. */
export function resolvePrice(model: ModelName, circumstances: PriceCircumstances = {}): Price | null {
  return modelFacts(model, circumstances).price;
}

/** Looks up a model, once per model. */
export function modelFacts(model: ModelName, circumstances: PriceCircumstances = {}): ModelFacts {
  const own = circumstances.overrides;
  const info = find(model);
  const price =
    own?.[`${service(model)}/${model.id}`] ?? own?.[model.id] ?? (info && toListedPrice(info, circumstances));
  return { price: price ?? null, contextWindow: info?.context_window ?? null };
}

/** Returns the provider that bills requests to this URL. Undefined if it is not listed. */
export function providerAt(url: string): string | undefined {
  return findProvider({ providerApiUrl: url })?.id;
}

const found = new Map<string, ModelInfo | null>();

function find(model: ModelName): ModelInfo | null {
  const key = `${service(model)}/${model.id}`;
  let info = found.get(key);
  if (info === undefined) {
    info = lookUp(model);
    found.set(key, info);
  }
  return info;
}

/** A model of an unknown provider has no known price, whatever its name, because a proxy sets its own prices. */
function lookUp(model: ModelName): ModelInfo | null {
  const providerId = lists[service(model)] ?? service(model);
  if (findProvider({ providerId })?.id !== providerId) return null;
  const id = model.id.replace(/^models\//, "");
  const match = calcPrice({}, id, { providerId });
  return match && isSameModel(id, match.model) ? match.model : null;
}

/** `openai.responses`, `vertex.anthropic.messages`: the first part names the billing provider. */
function service({ provider }: ModelName): string {
  return provider?.split(".")[0] ?? "";
}

/** The list finds `claude-sonnet-5` for `claude-sonnet-5-5`: only a name that it spells out counts. */
function isSameModel(id: string, info: ModelInfo): boolean {
  const spelled = new Set([info.id, ...names(info.match)].map((name) => name.toLowerCase()));
  let name = id.toLowerCase().replace(/^(ft:[^:]+):.*$/, "$1");
  if (spelled.has(name)) return true;
  for (const suffix of suffixes) {
    name = name.replace(suffix, "");
    if (spelled.has(name)) return true;
  }
  return false;
}

function names(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(names);
  if ("and" in match) return match.and.flatMap(names);
  if ("equals" in match) return [match.equals];
  if ("starts_with" in match) return [match.starts_with];
  return "contains" in match ? [match.contains] : [];
}

/** An incomplete price is not used: some models also charge per request. */
function toListedPrice(
  info: ModelInfo,
  { cacheWrites, longestPrompt = Infinity, now }: PriceCircumstances,
): Price | null {
  const prices = Array.isArray(info.prices) ? inForce(info.prices, now) : [info.prices];
  const isComplete = prices.every(
    (price) =>
      price["input_mtok"] !== undefined && price["output_mtok"] !== undefined && !price["requests_kcount"],
  );
  if (!isComplete) return null;
  const writes = writeKeys[cacheWrites ?? (info.id.includes("claude") ? "none" : "5m")];
  const base = ratesAbove(prices, 0, writes);
  if (!base) return null;
  const starts = new Set(prices.flatMap((price) => Object.values(price).flatMap(tierStarts)));
  const tiers = [...starts]
    .filter((start) => start > 0 && start < longestPrompt)
    .toSorted((one, other) => one - other)
    .flatMap((start) => {
      const rates = ratesAbove(prices, start, writes);
      return rates ? [Object.freeze({ aboveInputTokens: start, ...rates })] : [];
    });
  return Object.freeze({ ...base, ...(tiers.length > 0 && { tiers: Object.freeze(tiers) }) });
}

/** The rates of a prompt just longer than `start`: of several prices the highest. */
function ratesAbove(
  prices: readonly ModelPrice[],
  start: number,
  writes: readonly string[],
): Rates | undefined {
  const highest = (...keys: readonly string[]): Micros | undefined => {
    const all = prices.flatMap((price) => keys.flatMap((key) => amountAbove(price[key], start)));
    return all.length === 0 ? undefined : micros(Math.max(...all));
  };
  const input = highest("input_mtok");
  const output = highest("output_mtok", "output_reasoning_mtok");
  const cachedInput = highest("cache_read_mtok");
  const cacheWrite = highest(...writes);
  if (input === undefined || output === undefined) return undefined;
  return {
    input,
    output,
    ...(cachedInput !== undefined && { cachedInput }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}

const writeKeys = {
  none: [],
  "5m": ["cache_write_mtok"],
  "1h": ["cache_write_mtok", "cache_write_1h_mtok"],
} as const;

/** Returns the price since the last change, with all variants by time of day. */
function inForce(prices: readonly ConditionalPrice[], now = Infinity): ModelPrice[] {
  const since = prices.findLast(
    ({ constraint }) =>
      constraint?.type !== "time_of_date" && (!constraint || Date.parse(constraint.start_date) <= now),
  );
  const hourly = prices.filter(({ constraint }) => constraint?.type === "time_of_date");
  return [...(since ? [since] : []), ...hourly].map((price) => price.prices);
}

function amountAbove(price: ModelPrice[string], start: number): number[] {
  if (price === undefined) return [];
  if (typeof price === "number") return [price];
  const reached = price.tiers.filter((tier) => tier.start <= start);
  return [reached.toSorted((one, other) => one.start - other.start).at(-1)?.price ?? price.base];
}

function tierStarts(price: ModelPrice[string]): number[] {
  return price === undefined || typeof price === "number" ? [] : price.tiers.map(({ start }) => start);
}

/**
 * Converts dollars per million tokens. The tolerance removes floating-point error: 0.14 dollars is 140,000, not
 * 140,001.
 */
function micros(dollars: number): Micros {
  return Math.ceil(dollars * 1_000_000 - 1e-4);
}
