import { Json } from "#kernel";
import type { EndReport, RunRecord } from "./state/records.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * The end of a turn in a stored conversation. A turn that its root has saved is done. One that it has not saved is settled
 * when the tree is over, outside the run, because a cancelled run can make no step: it stays if it was cancelled or a tool
 * has acted outside, else it leaves no trace. Only then may the next turn begin.
 */

/** Remembers what becomes of the conversation's turn when the tree is over. */
export function noteTurn(
  work: TreeWork,
  run: RunRecord,
  { status, stopReason, isSaved, hasActed }: EndReport,
): void {
  if (hasActed) work.change({ hasActed });
  const isRoot = run.supervision.runId === work.root;
  // A root that never started has said nothing.
  if (isRoot && work.tree.turn?.isKept && !isSaved && run.startedAt !== null)
    work.change({ unsaved: { status, stopReason } });
}

/** Gives the conversation's turn back: at once if it is saved, else by the projector, once it is settled. */
export function leaveConversation(work: TreeWork): void {
  const { session, unsaved, hasActed, scope } = work.tree;
  const tree = { type: "tree", key: work.object.key };
  if (unsaved && work.host.projects) {
    const keep = unsaved.status === "cancelled" || hasActed === true;
    const { userId: user, sessionId } = scope;
    const place = { user, session: sessionId, run: work.root, release: session, at: work.now };
    work.orderProjector({ kind: "turn", keep, end: unsaved, ...place });
  } else if (session) work.object.send(session, "release", Json.of({ tree, at: work.now }));
}
