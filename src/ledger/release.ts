import { Usage } from "#kernel";
import { Amounts } from "./amounts.ts";
import type { Closing, Decided, RunAt } from "./command.ts";
import { relieve } from "./deadlock.ts";
import { Draft } from "./draft.ts";
import { handOver, holds, vacate, withdraw } from "./headcount.ts";
import { lose } from "./lose.ts";
import type { LedgerState } from "./state.ts";
import { entries } from "./table.ts";

const nothing: Closing = { usage: Usage.none, settled: Amounts.none, inDoubt: Amounts.none };

/**
 * A run has ended, however it ended. Its slot is free, its open calls are in doubt. Runs it leaves behind report to
 * its boss, whose accounts they are booked on already. A run that had ended before leaves nothing.
 */
export function release(state: LedgerState, { run, at }: RunAt): Decided<Closing> {
  const draft = new Draft(state);
  const slot = draft.slots.get(run);
  if (!slot) return draft.decided(nothing);
  for (const { id } of draft.accounts.need(run).attempts) lose(draft, run, id);
  const { usage, settled, inDoubt } = draft.accounts.need(run);
  withdraw(draft, run);
  for (const [child, { parent }] of entries(draft.slots.rows)) {
    if (parent === run) draft.slots.patch(child, { parent: slot.parent });
  }
  draft.slots.delete(run);
  draft.accounts.delete(run);
  if (holds(slot) && handOver(draft, slot.taker, at)) vacate(draft, run, at);
  relieve(draft, at);
  return draft.decided({ usage, settled, inDoubt });
}
