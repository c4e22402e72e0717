import { type Price, type RunId, type StepId, Usage } from "#kernel";
import { Account, type Attempt, type Doubt, type ActualCost } from "./account.ts";
import { Amounts } from "./amounts.ts";
import { book } from "./book.ts";
import type { BookedAmounts, DecisionResult, Reconcile, ReconciledAmounts, Settle } from "../command.ts";
import { Draft } from "../draft.ts";
import { chargeLease } from "./lease.ts";
import { path } from "../slots/ancestry.ts";
import { noteHidden } from "./hidden-tokens.ts";
import { lose } from "./lose.ts";
import type { LedgerState } from "../state.ts";

/**
 * Books the real usage of a call. Impossible figures leave it in doubt. An attempt that is in doubt already is cleared,
 * because the journal names it after all. The step has its result, even if the usage is unknown. Null if nothing was
 * booked.
 */
export function settle(state: LedgerState, command: Settle): DecisionResult<BookedAmounts | null> {
  const draft = new Draft(state);
  const { run, attempt, usage } = command;
  const open = draft.accounts.get(run)?.attempts.find(({ id }) => id === attempt);
  const doubt = draft.doubts.get(attempt);
  if (open) {
    const booked = closeAttempt(draft, command, open);
    if (!command.again) closeStep(draft, run, open.step);
    return draft.toResult(booked);
  }
  if (doubt?.run !== run) return draft.toResult(null);
  const booked = isCredible(usage, doubt) ? clearDoubt(draft, { attempt, usage }, doubt) : null;
  if (draft.slots.get(run) && !command.again) closeStep(draft, run, doubt.step);
  return draft.toResult(booked);
}

/** Books the real cost of a lost attempt. Null if it is not in doubt, or if the figures cannot be booked. */
export function reconcile(state: LedgerState, command: Reconcile): DecisionResult<ReconciledAmounts | null> {
  const draft = new Draft(state);
  const doubt = draft.doubts.get(command.attempt);
  if (!doubt || !Usage.isSane(command.usage)) return draft.toResult(null);
  return draft.toResult({ ...clearDoubt(draft, command, doubt), run: doubt.run });
}

/** Whether reported usage is plausible. More than ten times the ceiling is an error of the report. */
export function isCredible(usage: Usage | null, { ceiling }: { readonly ceiling: Amounts }): usage is Usage {
  return usage !== null && Usage.isSane(usage) && Usage.tokens(usage) <= 10 * ceiling.tokens + 10_000;
}

function closeAttempt(draft: Draft, { run, usage }: Settle, open: Attempt): BookedAmounts | null {
  if (open.kind === "tool" || !isCredible(usage, open)) {
    lose(draft, run, open.id);
    return open.kind === "tool" ? null : { ...open.ceiling, inDoubt: true };
  }
  const { attempts } = draft.accounts.need(run);
  draft.accounts.patch(run, { attempts: attempts.filter((other) => other !== open) });
  noteHidden(draft, open, usage);
  const real = realOf(usage, open.price);
  book(draft, path(draft.slots, run), Account.settle(open.ceiling, real));
  chargeLease(draft, open.leasedAt, Amounts.subtract(real.amounts, open.ceiling));
  return { ...real.amounts, inDoubt: false };
}

/** Clears a doubt. An ended run on the path took its account along; the accounts of its ancestors carry its spend. */
function clearDoubt(draft: Draft, { attempt, usage }: Reconcile, doubt: Doubt): BookedAmounts {
  const { ceiling, price, path: booked, leasedAt } = doubt;
  const real = realOf(usage, price);
  const live = booked.filter((run) => draft.slots.get(run));
  draft.doubts.delete(attempt);
  book(draft, live, Account.clear(ceiling, real));
  chargeLease(draft, leasedAt, Amounts.subtract(real.amounts, ceiling));
  return { ...real.amounts, inDoubt: false };
}

/** Closes a step that has its result. Its other attempts are never reported, so they are lost. */
function closeStep(draft: Draft, run: RunId, step: StepId): void {
  for (const open of draft.accounts.need(run).attempts) {
    if (open.step === step) lose(draft, run, open.id);
  }
  const { steps } = draft.accounts.need(run);
  draft.accounts.patch(run, { steps: steps.filter((other) => other.step !== step) });
}

/** Returns the usage with its cost. Without a price, a call costs nothing. */
export function realOf(usage: Usage, price: Price | null): ActualCost {
  const cost = price === null ? 0 : Usage.cost(usage, price);
  return { usage, amounts: { tokens: Usage.tokens(usage), costMicros: cost } };
}
