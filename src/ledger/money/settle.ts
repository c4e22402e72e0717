import { type Price, type RunId, type StepId, Usage } from "#kernel";
import { Account, type Attempt, type Doubt, type Real } from "./account.ts";
import { Amounts } from "./amounts.ts";
import { book } from "./book.ts";
import type { Booked, Decided, Reconcile, Reconciled, Settle } from "../command.ts";
import { Draft } from "../draft.ts";
import { chargeLease } from "./lease.ts";
import { path } from "../slots/lineage.ts";
import { lose } from "./lose.ts";
import type { LedgerState } from "../state.ts";

/**
 * Books what a call really used; figures that cannot be true leave it in doubt. An attempt that is in doubt already
 * is cleared: the journal names it after all. Its step has its result, also where the usage is unknown. Null where nothing
 * was booked.
 */
export function settle(state: LedgerState, command: Settle): Decided<Booked | null> {
  const draft = new Draft(state);
  const { run, attempt, usage } = command;
  const open = draft.accounts.get(run)?.attempts.find(({ id }) => id === attempt);
  const doubt = draft.doubts.get(attempt);
  if (open) {
    const booked = close(draft, command, open);
    if (!command.again) closeStep(draft, run, open.step);
    return draft.decided(booked);
  }
  if (doubt?.run !== run) return draft.decided(null);
  const booked = isCredible(usage, doubt) ? clear(draft, { attempt, usage }, doubt) : null;
  if (draft.slots.get(run) && !command.again) closeStep(draft, run, doubt.step);
  return draft.decided(booked);
}

/** Books what a lost attempt really cost. Null for one that is not in doubt, or figures that cannot be booked. */
export function reconcile(state: LedgerState, command: Reconcile): Decided<Reconciled | null> {
  const draft = new Draft(state);
  const doubt = draft.doubts.get(command.attempt);
  if (!doubt || !Usage.isSane(command.usage)) return draft.decided(null);
  return draft.decided({ ...clear(draft, command, doubt), run: doubt.run });
}

/** More than ten times what was thought to be the most is an error of the report. */
export function isCredible(usage: Usage | null, { ceiling }: { readonly ceiling: Amounts }): usage is Usage {
  return usage !== null && Usage.isSane(usage) && Usage.tokens(usage) <= 10 * ceiling.tokens + 10_000;
}

function close(draft: Draft, { run, usage }: Settle, open: Attempt): Booked | null {
  if (open.kind === "tool" || !isCredible(usage, open)) {
    lose(draft, run, open.id);
    return open.kind === "tool" ? null : { ...open.ceiling, inDoubt: true };
  }
  const { attempts } = draft.accounts.need(run);
  draft.accounts.patch(run, { attempts: attempts.filter((other) => other !== open) });
  const real = realOf(usage, open.price);
  book(draft, path(draft.slots, run), Account.settle(open.ceiling, real));
  chargeLease(draft, open.leasedAt, Amounts.subtract(real.amounts, open.ceiling));
  return { ...real.amounts, inDoubt: false };
}

/** A run on the path that has ended took its account along; its bosses' accounts carry what it spent. */
function clear(draft: Draft, { attempt, usage }: Reconcile, doubt: Doubt): Booked {
  const { ceiling, price, path: booked, leasedAt } = doubt;
  const real = realOf(usage, price);
  const live = booked.filter((run) => draft.slots.get(run));
  draft.doubts.delete(attempt);
  book(draft, live, Account.clear(ceiling, real));
  chargeLease(draft, leasedAt, Amounts.subtract(real.amounts, ceiling));
  return { ...real.amounts, inDoubt: false };
}

/** The step has its result: whatever else was tried for it, nobody will hear of. */
function closeStep(draft: Draft, run: RunId, step: StepId): void {
  for (const open of draft.accounts.need(run).attempts) {
    if (open.step === step) lose(draft, run, open.id);
  }
  const { steps } = draft.accounts.need(run);
  draft.accounts.patch(run, { steps: steps.filter((other) => other.step !== step) });
}

/** Without a price a call costs nothing. */
export function realOf(usage: Usage, price: Price | null): Real {
  const cost = price === null ? 0 : Usage.cost(usage, price);
  return { usage, amounts: { tokens: Usage.tokens(usage), costMicros: cost } };
}
