import { type Micros, Price, Usage } from "#kernel";

/** One line of a bill: tokens of one kind at one rate. */
interface BillLine {
  readonly name: "input" | "input, cached" | "input, written to the cache" | "output" | "request";
  /** Tokens, or for `request` the number of requests. */
  readonly amount: number;
  /** Micro-dollars for a million tokens, or for one request. */
  readonly rateMicros: Micros;
  /** Not rounded: the provider's price is rounded once per call. */
  readonly costMicros: number;
}

/** The cost of the attempts of one model call, line by line. */
export interface Bill {
  readonly lines: readonly BillLine[];
  readonly tokens: number;
  /** The sum over all attempts, each rounded up once. */
  readonly costMicros: Micros;
}

const million = 1_000_000;

/** Returns the bill of attempts at a price. An attempt without usage has no line, because its usage is unknown. */
export function billOf(usages: readonly Usage[], price: Price): Bill {
  const lines = new Map<string, BillLine>();
  for (const line of usages.flatMap((usage) => linesOf(usage, price))) {
    const key = `${line.name} ${line.rateMicros}`;
    const known = lines.get(key);
    lines.set(key, known ? joinLines(known, line) : line);
  }
  return {
    lines: [...lines.values()],
    tokens: usages.reduce((sum, usage) => sum + Usage.tokens(usage), 0),
    costMicros: usages.reduce((sum, usage) => sum + Usage.cost(usage, price), 0),
  };
}

function joinLines(one: BillLine, other: BillLine): BillLine {
  return { ...one, amount: one.amount + other.amount, costMicros: one.costMicros + other.costMicros };
}

function linesOf(usage: Usage, price: Price): readonly BillLine[] {
  const { input, output, cachedInput = 0, cacheWrite = 0 } = usage;
  if (input === 0 && output === 0) return [];
  const rates = Price.rates(price, input);
  const line = (name: BillLine["name"], amount: number, rateMicros: Micros): BillLine => ({
    name,
    amount,
    rateMicros,
    costMicros: (amount * rateMicros) / million,
  });
  const { request = 0 } = price;
  return [
    line("input", input - cachedInput - cacheWrite, rates.input),
    line("input, cached", cachedInput, rates.cachedInput ?? rates.input),
    line("input, written to the cache", cacheWrite, rates.cacheWrite ?? rates.input),
    line("output", output, rates.output),
    { name: "request" as const, amount: request > 0 ? 1 : 0, rateMicros: request, costMicros: request },
  ].filter(({ amount }) => amount > 0);
}
