import { Usage } from "#kernel";
import { Account, type RunAccount } from "./account.ts";
import type { Amounts } from "./amounts.ts";
import type { Ask, Begin, Gate } from "./command.ts";
import type { Draft } from "./draft.ts";
import { path } from "./lineage.ts";

/** What a call may use: its ceiling and the output that belongs to it; or why it may not begin. */
export type Reservation =
  | {
      readonly kind: "fits";
      readonly outputTokens: number;
      readonly ceiling: Amounts;
      /** What made it less than was asked for. */
      readonly shrunk: "tokens" | "cost" | null;
    }
  | Extract<Gate, { readonly kind: "denied" | "needs-block" }>;

/** In the order in which they are checked. */
const dimensions = ["tokens", "cost", "turns"] as const;
type Dimension = (typeof dimensions)[number];

/** Something that limits a call. `usable` is `limit` without the slice kept for landing. */
interface Cap {
  readonly dimension: Dimension;
  readonly limit: number;
  readonly usable: number;
  readonly used: number;
}

/**
 * Finds the largest output that fits every limit on the path. Changes nothing.
 * @throws RangeError on an ask that could not be booked.
 */
export function reservation(draft: Draft, command: Begin, ask: Ask): Reservation {
  validate(ask);
  const accounts = accountCaps(draft, command, ask);
  const block = blockCaps(draft);
  const isUnpriced = ask.price === null && ask.unpriced === "refuse";
  const caps = command.blockIsFinal ? [...accounts, ...block] : accounts;
  const least = ceilingOf(ask, Math.min(ask.minOutputTokens, ask.outputTokens));
  // More to borrow would not help a call without a price.
  const deciding = isUnpriced ? [...caps, ...block.filter(({ dimension }) => dimension === "cost")] : caps;
  const denial = deny(deciding, { ...least, turns: 1, isUnpriced });
  if (denial) return denial;
  const forMoney = outputFor(ask, room(caps, "cost"));
  const forTokens = room(caps, "tokens") - ask.inputTokens;
  const outputTokens = Math.min(forMoney, forTokens);
  const shrunkBy = forMoney < forTokens ? "cost" : "tokens";
  const ceiling = ceilingOf(ask, outputTokens);
  const tokens = Math.max(0, ceiling.tokens - room(block, "tokens"));
  const cost = Math.max(0, ceiling.cost - room(block, "cost"));
  if (!command.blockIsFinal && (tokens > 0 || cost > 0)) return { kind: "needs-block", tokens, cost };
  return { kind: "fits", outputTokens, ceiling, shrunk: outputTokens < ask.outputTokens ? shrunkBy : null };
}

/** The first limit that does not allow `need`, nearest account first within a dimension. */
function deny(
  caps: readonly Cap[],
  need: Amounts & { readonly turns: number; readonly isUnpriced: boolean },
): Extract<Gate, { readonly kind: "denied" }> | null {
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

/** Whether a call may use a limit up to its end, or must leave the slice kept for landing. */
interface Use {
  readonly whole: boolean;
}

/** The limits of the run, of those above it and of the tree. A landing call may use the slices its run owns. */
function accountCaps(draft: Draft, { run, step }: Begin, { landing }: Ask): readonly Cap[] {
  const { tree } = draft;
  const own = draft.accounts.need(run);
  const upwards = path(draft.slots.rows, run).toReversed();
  const caps = upwards.flatMap((owner) =>
    capsOf(draft.accounts.need(owner), { whole: landing && owner === run }),
  );
  const isFirstAttempt = !own.steps.some((open) => open.step === step);
  return [
    ...caps,
    ...capsOf(tree.account, { whole: landing && run === tree.root }),
    ...(isFirstAttempt ? turnCaps(own, { whole: landing }) : []),
  ];
}

function capsOf(account: Account, { whole }: Use): readonly Cap[] {
  const { maxTokens, maxCost } = account;
  const { tokens, cost } = Account.spend(account);
  const slice = (limit: number | null): number => (whole ? 0 : Math.ceil((limit ?? 0) / 10));
  return [
    ...cap("tokens", { limit: maxTokens, used: tokens, slice: slice(maxTokens) }),
    ...cap("cost", { limit: maxCost, used: cost, slice: slice(maxCost) }),
  ];
}

/** The last turn is for landing, unless it is the only one. */
function turnCaps({ maxTurns, turns }: RunAccount, { whole }: Use): readonly Cap[] {
  return cap("turns", { limit: maxTurns, used: turns, slice: whole || maxTurns === 1 ? 0 : 1 });
}

/** What the tenant has lent. Nothing of it is kept for landing. */
function blockCaps({ tree: { account, block } }: Draft): readonly Cap[] {
  const { tokens, cost } = Account.spend(account);
  return [
    ...cap("tokens", { limit: block?.tokens ?? null, used: tokens, slice: 0 }),
    ...cap("cost", { limit: block?.cost ?? null, used: cost, slice: 0 }),
  ];
}

function cap(
  dimension: Dimension,
  { limit, used, slice }: { readonly limit: number | null; readonly used: number; readonly slice: number },
): readonly Cap[] {
  return limit === null ? [] : [{ dimension, limit, used, usable: limit - slice }];
}

/** What every limit of a dimension still allows. */
function room(caps: readonly Cap[], dimension: Dimension): number {
  const some = caps.filter((each) => each.dimension === dimension);
  return Math.min(...some.map(({ usable, used }) => usable - used));
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
  const counts = [inputTokens, outputTokens, minOutputTokens];
  const prices = price === null ? [] : [price.input, price.output];
  const isBookable =
    counts.every((count) => Number.isSafeInteger(count) && count >= 0) &&
    prices.every((each) => Number.isFinite(each) && each >= 0);
  if (!isBookable) throw new RangeError(`cannot be booked: ${[...counts, ...prices].join(", ")}`);
}
