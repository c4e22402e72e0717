import { Account, type RunAccount } from "./account.ts";
import type { Ask, Begin, Gate } from "./command.ts";
import type { Draft } from "./draft.ts";
import { cap, fit, room, type Cap, type Fit } from "./fit.ts";
import { path } from "./lineage.ts";

/** What a call may use; or why it may not begin. */
export type Reservation = Fit | Extract<Gate, { readonly kind: "denied" | "needs-block" }>;

/**
 * Finds the largest output that fits every limit on the path. Changes nothing.
 * @throws RangeError on an ask that could not be booked.
 */
export function reservation(draft: Draft, command: Begin, ask: Ask): Reservation {
  const accounts = accountCaps(draft, command, ask);
  const block = blockCaps(draft);
  const caps = command.blockIsFinal ? [...accounts, ...block] : accounts;
  // More to borrow would not help a call without a price.
  const isUnpriced = ask.price === null && ask.unpriced === "refuse";
  const fitting = fit(ask, caps, isUnpriced ? block.filter(({ dimension }) => dimension === "cost") : []);
  if (fitting.kind === "denied" || command.blockIsFinal) return fitting;
  const tokens = Math.max(0, fitting.ceiling.tokens - room(block, "tokens"));
  const cost = Math.max(0, fitting.ceiling.cost - room(block, "cost"));
  return tokens > 0 || cost > 0 ? { kind: "needs-block", tokens, cost } : fitting;
}

/** Whether a call may use a limit up to its end, or must leave the slice kept for landing. */
interface Use {
  readonly whole: boolean;
}

/** The limits of the run, of those above it and of the tree. A landing call may use the slices its run owns. */
function accountCaps(draft: Draft, { run, step }: Begin, { landing }: Ask): readonly Cap[] {
  const { tree } = draft;
  const own = draft.accounts.need(run);
  const caps: Cap[] = [];
  for (const owner of path(draft.slots.rows, run).toReversed())
    addCaps(caps, draft.accounts.need(owner), { whole: landing && owner === run });
  addCaps(caps, tree.account, { whole: landing && run === tree.root });
  const isFirstAttempt = !own.steps.some((open) => open.step === step);
  if (isFirstAttempt) addTurnCap(caps, own, { whole: landing });
  return caps;
}

function addCaps(caps: Cap[], account: Account, { whole }: Use): void {
  const { maxTokens, maxCost } = account;
  if (maxTokens === null && maxCost === null) return;
  const { tokens, cost } = Account.spend(account);
  const slice = (limit: number | null): number => (whole ? 0 : Math.ceil((limit ?? 0) / 10));
  cap(caps, "tokens", maxTokens, { used: tokens, slice: slice(maxTokens) });
  cap(caps, "cost", maxCost, { used: cost, slice: slice(maxCost) });
}

/** The last turn is for landing, unless it is the only one. */
function addTurnCap(caps: Cap[], { maxTurns, turns }: RunAccount, { whole }: Use): void {
  cap(caps, "turns", maxTurns, { used: turns, slice: whole || maxTurns === 1 ? 0 : 1 });
}

/** What the tenant has lent. Nothing of it is kept for landing. */
function blockCaps({ tree: { account, block } }: Draft): readonly Cap[] {
  if (block === null) return none;
  const { tokens, cost } = Account.spend(account);
  const caps: Cap[] = [];
  cap(caps, "tokens", block.tokens, { used: tokens, slice: 0 });
  cap(caps, "cost", block.cost, { used: cost, slice: 0 });
  return caps;
}

const none: readonly Cap[] = [];
