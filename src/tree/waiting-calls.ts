import { Ledger } from "#ledger";
import { performEffects } from "./run-lifecycle.ts";
import { armTimer } from "./timers.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * Model calls that wait for money. The ledger keeps their queue and decides. This file wakes the runs, and holds the
 * timer that releases reservations of dead workers. Without a waiting call there is no timer, and nothing is read.
 */

/** Time for a woken run to begin its call. */
const takeGraceMs = 10_000;

const isAnyWaiting = ({ tree }: TreeWork): boolean => Object.keys(tree.ledger.calls.line).length > 0;

/** Decides the waiting calls again if money has moved, and wakes the runs that must ask again. */
export function decideWaiting(work: TreeWork): void {
  if (!isAnyWaiting(work)) return;
  if (work.isMoneyMoved) {
    const command = { takeBy: work.now + takeGraceMs, at: work.now };
    const woken = work.decide(work.root, (state) => Ledger.decideWaiting(state, command));
    for (const { run, step } of woken) work.push(run, { kind: "budget", step });
    performEffects(work);
    // New reservations free no money.
    work.isMoneyMoved = false;
  }
  const { due } = work.tree.ledger.calls;
  if (due !== null && isAnyWaiting(work)) armTimer(work, due);
}

/** Releases the reservations that are due, if a call waits for money. */
export function giveUpDue(work: TreeWork): void {
  const { due } = work.tree.ledger.calls;
  if (!isAnyWaiting(work) || due === null || due > work.now) return;
  work.load(work.allRuns());
  work.decide(work.root, (state) => Ledger.expire(state, { at: work.now }));
  performEffects(work);
}
