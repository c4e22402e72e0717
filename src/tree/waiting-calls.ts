import { Ledger } from "#ledger";
import { perform } from "./run-lifecycle.ts";
import { armTimer } from "./timers.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * Model calls that wait for money. The ledger keeps their line and decides. This tells the runs, and holds the timer that
 * gives up reservations of workers that are gone. Without a waiting call there is no timer, and nothing is read.
 */

/** The time that a run may take to begin once it was told to. */
const takeGraceMs = 10_000;

const isAnyWaiting = ({ tree }: TreeWork): boolean => Object.keys(tree.ledger.calls.line).length > 0;

/** Decides the waiting calls again if money has moved, and tells the runs that have to ask again. */
export function decideWaiting(work: TreeWork): void {
  if (isAnyWaiting(work) && work.isMoneyMoved) {
    const command = { takeBy: work.now + takeGraceMs, at: work.now };
    const woken = work.decide(work.root, (state) => Ledger.decideWaiting(state, command));
    for (const { run, step } of woken) work.push(run, { kind: "budget", step });
    perform(work);
    // Reservations made just now make no room.
    work.isMoneyMoved = false;
  }
  const { due } = work.tree.ledger.calls;
  if (isAnyWaiting(work) && due !== null) armTimer(work, due);
}

/** Gives up the reservations that are due, if a call waits for money. */
export function giveUpDue(work: TreeWork): void {
  const { due } = work.tree.ledger.calls;
  if (!isAnyWaiting(work) || due === null || due > work.now) return;
  work.load(work.allRuns());
  work.decide(work.root, (state) => Ledger.expire(state, { at: work.now }));
  perform(work);
}
