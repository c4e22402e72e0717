import { type CallDenialReason, type LimitAccount, type LimitMet, Price, type RunId } from "#kernel";
import type { Account, RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";
import type { ReservationRequest } from "./reservation-request.ts";
import type { Gate } from "../command.ts";

/** A grant: the ceiling of a call and its maximum output. */
export interface Grant {
  readonly kind: "fits";
  readonly outputTokens: number;
  readonly ceiling: Amounts;
  /** The dimension that reduced the output. Null: none. */
  readonly shrunk: "tokens" | "cost" | null;
}

/** A refusal by a limit. */
export type Denial = Extract<Gate, { readonly kind: "denied" }>;

/** The limits that a call can exhaust, in the order in which they are checked. */
export const dimensions = ["tokens", "cost", "turns"] as const;
type Dimension = (typeof dimensions)[number];

/** A limit of a call. */
export interface Cap {
  readonly dimension: Dimension;
  /** The limit without the slice reserved for landing. */
  readonly usable: number;
  readonly used: number;
  /** The part of `used` that can be settled before the call begins. */
  readonly freeable: number;
  /** The number of calls in flight that hold a part of `used`. */
  readonly inFlight: number;
  readonly waitsForTopUp: boolean;
  /** Whether nothing may begin, even with no needs. */
  readonly exceeded: boolean;
  /** The limit in the form of a refusal. */
  readonly met: LimitMet;
  /** The reason for a refusal by this limit. */
  readonly refusedFor: CallDenialReason;
}

/** The owner of limits, and the part of its reservations that cannot be settled before the call begins. */
export interface CapOwner {
  readonly name: LimitAccount;
  readonly owner: RunId | null;
  readonly account: Account;
  readonly fixed: Amounts;
}

/**
 * Finds the largest output that fits every limit. `refusing`: further limits that may refuse the call. @throws
 * RangeError for an invalid request.
 */
export function fit(
  ask: ReservationRequest,
  caps: readonly Cap[],
  refusing: readonly Cap[] = [],
): Grant | Denial {
  validateRequest(ask);
  const isUnpriced = ask.price === null && ask.unpriced === "refuse";
  const least = ceilingOf(ask, Math.min(ask.minOutputTokens, ask.outputTokens));
  const all = refusing.length === 0 ? caps : [...caps, ...refusing];
  const denial = deny(all, { ...least, turns: 1, isUnpriced, isUnbounded: ask.unbounded === true });
  if (denial) return denial;
  const forMoney = outputFor(ask, room(caps, "cost"));
  const forTokens = room(caps, "tokens") - ask.inputTokens;
  const outputTokens = Math.min(forMoney, forTokens);
  const shrunkBy = forMoney < forTokens ? "cost" : "tokens";
  const shrunk = outputTokens < ask.outputTokens ? shrunkBy : null;
  return { kind: "fits", outputTokens, ceiling: ceilingOf(ask, outputTokens), shrunk };
}

/** Returns the first limit that does not allow `need`, nearest account first within a dimension. */
function deny(
  caps: readonly Cap[],
  need: Amounts & { readonly turns: number; readonly isUnpriced: boolean; readonly isUnbounded: boolean },
): Denial | null {
  const over = caps.find(({ exceeded }) => exceeded);
  if (over) return { kind: "denied", ...over.met, reason: "exceeded" };
  const limit = need.isUnbounded && caps.find(({ dimension }) => dimension !== "turns");
  if (limit) return { kind: "denied", ...limit.met, reason: "unbounded" };
  for (const dimension of dimensions) {
    const isUnpriced = dimension === "cost" && need.isUnpriced;
    const hit = caps.find((each) => each.dimension === dimension && (isUnpriced || lacksRoom(each, need)));
    if (hit) return { kind: "denied", ...hit.met, reason: isUnpriced ? "unpriced" : hit.refusedFor };
  }
  return null;
}

/** Whether a call with this need does not fit. */
export function lacksRoom(
  { dimension, used, usable, exceeded }: Cap,
  need: Amounts & { readonly turns: number },
): boolean {
  const needed = { tokens: need.tokens, cost: need.costMicros, turns: need.turns };
  return exceeded || used + needed[dimension] > usable;
}

/** The limits of amounts: where an account has the limit, and where it counts what is used. */
const amountLimits = [
  { dimension: "tokens", field: "tokens", maximum: "maxTokens" },
  { dimension: "cost", field: "costMicros", maximum: "maxCostMicros" },
] as const;

/** Appends the limits of tokens and cost, if any. `slice`: the part of a limit that is reserved for landing. */
export function addCaps(
  caps: Cap[],
  { name, owner, account, fixed }: CapOwner,
  limits: Pick<Account, "maxTokens" | "maxCostMicros">,
  slice: (limit: number) => number,
): void {
  const { settled, reserved, inDoubt, inFlight, waitsForTopUp, exceeded } = account;
  for (const { dimension, field, maximum } of amountLimits) {
    const limit = limits[maximum];
    if (limit === null) continue;
    const held = reserved[field];
    const doubted = inDoubt[field];
    const used = settled[field] + held + doubted;
    caps.push({
      dimension,
      usable: limit - slice(limit),
      used,
      freeable: held - fixed[field],
      inFlight,
      waitsForTopUp,
      exceeded: exceeded.includes(dimension),
      met: { dimension, account: name, owner, limit, used, reserved: held, inDoubt: doubted },
      refusedFor: "exhausted",
    });
  }
}

/** Appends a limit of turns, if any. No call in flight returns a turn, and no report exceeds the limit. */
export function addTurnCap(
  caps: Cap[],
  owner: RunId | null,
  { maxTurns: limit, turns: used, waitsForTopUp }: Pick<RunAccount, "maxTurns" | "turns" | "waitsForTopUp">,
  slice: number,
): void {
  if (limit === null) return;
  const dimension = "turns";
  caps.push({
    dimension,
    usable: limit - slice,
    used,
    freeable: 0,
    inFlight: 0,
    waitsForTopUp,
    exceeded: false,
    met: { dimension, account: "run", owner, limit, used, reserved: 0, inDoubt: 0 },
    refusedFor: "exhausted",
  });
}

/** Returns the amount that every limit of a dimension still allows. */
export function room(caps: readonly Cap[], dimension: Dimension): number {
  let least = Infinity;
  for (const each of caps) {
    if (each.dimension === dimension) least = Math.min(least, each.usable - each.used);
  }
  return least;
}

/** Returns the maximum amounts of a call with this output. */
export function ceilingOf({ inputTokens, price }: ReservationRequest, output: number): Amounts {
  const cost = price === null ? 0 : Price.maxCost(price, { input: inputTokens, output });
  return { tokens: inputTokens + output, costMicros: cost };
}

/** Returns the maximum output for this money, at most the requested output. */
function outputFor({ inputTokens, outputTokens, price }: ReservationRequest, money: number): number {
  if (price === null || money === Infinity) return outputTokens;
  const rates = Price.dearest(price, inputTokens);
  if (rates.output === 0) return outputTokens;
  const forTokens = (money - (price.request ?? 0)) * 1_000_000;
  let output = Math.min(outputTokens, Math.floor((forTokens - inputTokens * rates.input) / rates.output));
  // Arithmetic with huge caps is inexact.
  while (Price.maxCost(price, { input: inputTokens, output }) > money) output -= 1;
  return output;
}

/** @throws RangeError unless token counts are integers >= 0 and the price is valid. */
function validateRequest({ inputTokens, outputTokens, minOutputTokens, price }: ReservationRequest): void {
  for (const [name, count] of Object.entries({ inputTokens, outputTokens, minOutputTokens }))
    if (!isTokenCount(count))
      throw new RangeError(`invalid reservation: ${name} must be a non-negative integer, got ${count}`);
  const fault = price === null ? null : Price.fault(price);
  if (fault !== null) throw new RangeError(`invalid reservation: the price is not valid: ${fault}`);
}

const isTokenCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;
