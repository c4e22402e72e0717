import { eraseEvent, Json, RunId, type NumberedEvent, type ObjectContext } from "#kernel";
import { closeContent } from "../state/content.ts";
import { eraseApprovals } from "./approvals.ts";
import { eventKeys, writeEvents } from "../state/events.ts";
import type { EraseOrder, EraseReply } from "../orders.ts";
import { contentKey, endedKeys, endedOf, foldEnded, ownCopiesMs, runsPerPage } from "../state/ended-runs.ts";
import { forgetSeen } from "../state/seen.ts";
import { forgetTopics } from "../state/topics.ts";
import { forgetLeft } from "../state/trim-events.ts";
import { finishedKey } from "../state/tree-record.ts";
import type { TreeWork } from "../state/tree-work.ts";

/*
 * Erases the content of an ended tree, in parts: a tree may have had any number of runs and events, and one call
 * handles a bounded number of values. Each part sends the tree a message for the next one.
 *
 * 1. Runs: the content of runs that are not permanent is erased. Their remaining records are folded into pages.
 *    Receipts of cancels are removed.
 * 2. Events: removed if a store has them, otherwise their content is erased.
 * 3. Approvals, metadata and deduplication records. Only then is the tree `erased`, and its key may be destroyed.
 *
 * Retention erases a tree in part: permanent runs keep their content. A later order erases all of it, in a second pass.
 */

/** Number of runs or events that one call erases: the runs of one page of ended runs. */
const partSize = runsPerPage;

/** Begins to erase all content of an ended tree. Requires a store. Returns false if the tree has not ended. */
export function eraseAll(work: TreeWork): boolean {
  const { tree, now: at } = work;
  if (tree.status !== "closed") return false;
  if (tree.wholeErasure) return true;
  work.change({ wholeErasure: "ordered" });
  work.orderProjector({ kind: "erase", after: tree.projection.upTo, content: "all", at });
  return true;
}

/** Erases the next part of an ended tree. Does nothing while the store lacks events. */
export function erase(work: TreeWork, argument: EraseOrder): EraseReply {
  const { tree, host } = work;
  if (host.projects && tree.projection.upTo < tree.seq && !tree.erased) return { unwritten: true };
  const { whole = tree.wholeErasure === "ordered" } = argument;
  const isDue = whole ? tree.wholeErasure === "ordered" : !tree.erased;
  if (tree.status === "closed" && isDue) erasePart(work, { ...argument, whole });
  return { unwritten: false };
}

function erasePart(work: TreeWork, part: Omit<EraseOrder, "at">): void {
  const { tree, host } = work;
  const { runs = 0, events = 0, erasable = 0, whole = false } = part;
  if (runs < tree.nextRun) {
    const end = Math.min(tree.nextRun, runs + partSize);
    const erased = eraseRuns(work, { from: runs, end, whole });
    return scheduleNext(work, { runs: end, events, erasable: erasable + erased, whole });
  }
  // Those before the first were removed when the store had them.
  const gone = host.projects ? Math.max(events, tree.firstEvent - 1) : events;
  if (gone < tree.seq) {
    const end = Math.min(tree.seq, gone + partSize);
    eraseEvents(work, gone + 1, end);
    return scheduleNext(work, { runs, events: end, erasable, whole });
  }
  finish(work, erasable, whole);
}

function scheduleNext(work: TreeWork, done: Omit<EraseOrder, "at">): void {
  const { tree } = work;
  // A tree that fits into one part is erased in one call.
  if ((done.runs ?? 0) >= tree.nextRun && tree.seq - tree.firstEvent < partSize) return erasePart(work, done);
  const self = { type: "tree", key: work.object.key };
  work.object.send(self, "erase", Json.of({ ...done, at: work.now }));
}

/** Erases runs. Returns the number of those whose content is erased. */
function eraseRuns(
  { object, tree }: TreeWork,
  { from, end, whole }: { readonly from: number; readonly end: number; readonly whole: boolean },
): number {
  const runs = Array.from({ length: end - from }, (_, index) => RunId.of(tree.treeId, from + index));
  object.prefetch(endedKeys(runs));
  const ended = runs.map((run) => endedOf(object, run));
  for (const run of runs) object.clear(contentKey(run));
  foldEnded(object, runs, whole);
  return ended.filter((record) => whole || record?.retention !== "permanent").length;
}

function eraseEvents(work: TreeWork, first: number, last: number): void {
  const { object, host } = work;
  if (host.projects) {
    for (const key of eventKeys(first, last)) object.clear(key);
    work.change({ firstEvent: last + 1 });
    return;
  }
  object.prefetch(eventKeys(first, last));
  const values = eventKeys(first, last).map((key) =>
    Json.as<readonly NumberedEvent[]>(object.get(key) ?? []),
  );
  object.prefetch(endedKeys(values.flat().map(({ runId }) => runId)));
  for (const events of values)
    writeEvents(
      object,
      events.map((event) => erasedEvent(object, event)),
    );
}

const erasedEvent = (object: ObjectContext, event: NumberedEvent): NumberedEvent =>
  endedOf(object, event.runId)?.retention === "permanent" ? event : eraseEvent(event);

function finish(work: TreeWork, erasable: number, whole: boolean): void {
  const { tree, object, host } = work;
  eraseApprovals(object, 0, tree.approvals);
  forgetLeft(work);
  forgetSeen(work);
  forgetTopics(object);
  closeContent(work);
  const erased = { erased: true, secret: null, scope: { ...tree.scope, metadata: {} } };
  work.change({ ...erased, ...(whole && { wholeErasure: "done" }) });
  object.set(finishedKey, true);
  // A separate call destroys the key: a call that has already read something could not be repeated without the key.
  // Until then, the store's copies of steps can be read.
  const later = { delayMs: host.eraseAfterMs - ownCopiesMs(host), bestEffort: true };
  if (!host.projects) return;
  if (whole) work.orderProjector({ kind: "forget", runs: erasable, whole });
  else work.orderProjector({ kind: "forget", runs: erasable }, later);
}
