import type { RunId } from "#kernel";
import { Ledger } from "#ledger";
import type { FromRun } from "../protocol.ts";
import { dropDelivered } from "./inbox.ts";
import type { TreeWork } from "./tree-work.ts";

/*
 * Runs that were told something by a wake-up and have not called since. The ledger does not know for whom such a run waits now:
 * it takes every run that has ended for one that the waiting run is about to be told of, and so would not notice that the
 * tree is stuck. That matters only while runs stand in line for a slot: then silent runs are woken, and say how they stand.
 */

/** Notes that a run calls: items that it has leave its inbox, and what it has not read counts. */
export function noteCall(work: TreeWork, { run: id, continuation, cursor, backlog }: FromRun): void {
  const run = work.run(id);
  if (!run || cursor === undefined || continuation !== run.continuation) return;
  const inbox = dropDelivered(work.object, id, run.inbox, cursor);
  if (inbox !== run.inbox || backlog !== run.backlog) work.put(id, { ...run, inbox, backlog });
  leaveSilent(work, id);
}

/** Wakes the runs that must say how they stand. */
export function wakeSilent(work: TreeWork): void {
  const { silent = [] } = work.tree;
  if (silent.length === 0 || !Ledger.hasLine(work.tree.ledger.headcount)) return;
  work.load(silent);
  for (const id of silent) {
    leaveSilent(work, id);
    // An item, not only a wake-up: each wake-up has the name of an item, and is resolved once.
    if (work.run(id)?.inbox.woken === false) work.push(id, { kind: "resume" });
  }
}

/** Forgets that a run was told something: it has called, or it is over. */
export function leaveSilent(work: TreeWork, id: RunId): void {
  const { silent = [] } = work.tree;
  if (silent.includes(id)) work.change({ silent: silent.filter((other) => other !== id) });
}
