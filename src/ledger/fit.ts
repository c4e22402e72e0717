import { Usage } from "#kernel";
import type { Amounts } from "./amounts.ts";
import type { Ask, Gate } from "./command.ts";

/** What a call may use: its ceiling and the output that belongs to it. */
export interface Fit {
  readonly kind: "fits";
  readonly outputTokens: number;
  readonly ceiling: Amounts;
  /** What made it less than was asked for. */
  readonly shrunk: "tokens" | "cost" | null;
}

/** The limit that does not allow a call. */
export type Denial = Extract<Gate, { readonly kind: "denied" }>;

/** In the order in which they are checked. */
const dimensions = ["tokens", "cost", "turns"] as const;
type Dimension = (typeof dimensions)[number];

/** Something that limits a call. `usable` is `limit` without the slice kept for landing. */
export interface Cap {
  readonly dimension: Dimension;
  readonly limit: number;
  readonly usable: number;
  readonly used: number;
}

/**
 * Finds the largest output that fits every limit. `refusing` are the limits that may refuse the call besides.
 * @throws RangeError on an ask that could not be booked.
 */
export function fit(ask: Ask, caps: readonly Cap[], refusing: readonly Cap[] = []): Fit | Denial {
  validate(ask);
  const isUnpriced = ask.price === null && ask.unpriced === "refuse";
  const least = ceilingOf(ask, Math.min(ask.minOutputTokens, ask.outputTokens));
  const all = refusing.length === 0 ? caps : [...caps, ...refusing];
  const denial = deny(all, { ...least, turns: 1, isUnpriced });
  if (denial) return denial;
  const forMoney = outputFor(ask, room(caps, "cost"));
  const forTokens = room(caps, "tokens") - ask.inputTokens;
  const outputTokens = Math.min(forMoney, forTokens);
  const shrunkBy = forMoney < forTokens ? "cost" : "tokens";
  const shrunk = outputTokens < ask.outputTokens ? shrunkBy : null;
  return { kind: "fits", outputTokens, ceiling: ceilingOf(ask, outputTokens), shrunk };
}

/** The first limit that does not allow `need`, nearest account first within a dimension. */
function deny(
  caps: readonly Cap[],
  need: Amounts & { readonly turns: number; readonly isUnpriced: boolean },
): Denial | null {
  for (const dimension of dimensions) {
    const isUnpriced = dimension === "cost" && need.isUnpriced;
    const hit = caps.find(
      (each) => each.dimension === dimension && (isUnpriced || each.used + need[dimension] > each.usable),
    );
    const reason = isUnpriced ? "unpriced" : null;
    if (hit) return { kind: "denied", dimension, limit: hit.limit, used: hit.used, reason };
  }
  return null;
}

/** Adds a limit to others, where there is one. */
export function cap(
  caps: Cap[],
  dimension: Dimension,
  limit: number | null,
  { used, slice }: { readonly used: number; readonly slice: number },
): void {
  if (limit !== null) caps.push({ dimension, limit, used, usable: limit - slice });
}

/** What every limit of a dimension still allows. */
export function room(caps: readonly Cap[], dimension: Dimension): number {
  let least = Infinity;
  for (const each of caps) {
    if (each.dimension === dimension) least = Math.min(least, each.usable - each.used);
  }
  return least;
}

function ceilingOf({ inputTokens, price }: Ask, output: number): Amounts {
  const cost = price === null ? 0 : Usage.cost({ input: inputTokens, output }, price);
  return { tokens: inputTokens + output, cost };
}

/** The most a model may say for this money, of what it is asked to. */
function outputFor({ inputTokens, outputTokens, price }: Ask, money: number): number {
  if (price === null || price.output === 0 || money === Infinity) return outputTokens;
  const input = inputTokens;
  let output = Math.min(outputTokens, Math.floor((money * 1_000_000 - input * price.input) / price.output));
  // The sums of huge caps are inexact.
  while (Usage.cost({ input, output }, price) > money) output -= 1;
  return output;
}

function validate({ inputTokens, outputTokens, minOutputTokens, price }: Ask): void {
  const isBookable =
    isCount(inputTokens) &&
    isCount(outputTokens) &&
    isCount(minOutputTokens) &&
    (price === null || (isPrice(price.input) && isPrice(price.output)));
  if (isBookable) return;
  const figures = [inputTokens, outputTokens, minOutputTokens, price?.input, price?.output];
  throw new RangeError(`cannot be booked: ${figures.filter((each) => each !== undefined).join(", ")}`);
}

const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;
const isPrice = (price: number): boolean => Number.isFinite(price) && price >= 0;
