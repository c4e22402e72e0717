import type { AttemptId, RunId } from "#kernel";
import { Account } from "./account.ts";
import { Amounts } from "./amounts.ts";
import { book } from "./book.ts";
import type { Draft } from "../draft.ts";
import { chargeLease } from "./lease.ts";
import { path } from "../slots/ancestry.ts";

/**
 * Closes an open attempt whose outcome is unknown. A model call stays booked at its ceiling, unless it was never made.
 */
export function lose(draft: Draft, run: RunId, attempt: AttemptId): void {
  const { attempts } = draft.accounts.need(run);
  const open = attempts.find(({ id }) => id === attempt);
  if (!open) return;
  draft.accounts.patch(run, { attempts: attempts.filter((other) => other !== open) });
  if (open.kind === "tool") return;
  const { step, ceiling, price, leasedAt } = open;
  const runs = path(draft.slots, run);
  if (open.isUnused) {
    chargeLease(draft, leasedAt, Amounts.subtract(Amounts.none, ceiling));
    return book(draft, runs, Account.unreserve(ceiling, 1));
  }
  draft.doubts.put(attempt, {
    run,
    step,
    ceiling,
    price,
    path: runs,
    ...(leasedAt !== undefined && { leasedAt }),
  });
  book(draft, runs, Account.doubt(ceiling));
}
