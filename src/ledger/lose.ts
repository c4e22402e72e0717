import type { AttemptId, RunId } from "#kernel";
import { Account } from "./account.ts";
import { book } from "./book.ts";
import type { Draft } from "./draft.ts";
import { path } from "./lineage.ts";

/** Closes an open attempt whose outcome nobody knows. A model's stays booked at its ceiling. */
export function lose(draft: Draft, run: RunId, attempt: AttemptId): void {
  const { attempts } = draft.accounts.need(run);
  const open = attempts.find(({ id }) => id === attempt);
  if (!open) return;
  draft.accounts.patch(run, { attempts: attempts.filter((other) => other !== open) });
  if (open.kind === "tool") return;
  const { step, ceiling, price } = open;
  const runs = path(draft.slots.rows, run);
  draft.doubts.put(attempt, { run, step, ceiling, price, path: runs });
  book(draft, runs, Account.doubt(ceiling));
}
