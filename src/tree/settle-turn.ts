import { Json } from "#kernel";
import type { EndReport, RunRecord } from "./state/records.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * The end of a turn in a stored conversation. A turn that its root has saved is done. An unsaved turn is settled when
 * the tree has ended, outside the run, because a cancelled run can make no step. It stays if it was cancelled or a tool
 * had side effects, unless another process has changed the conversation since; otherwise it is dropped. Writes of the
 * run that arrive later are refused. Only then may the next turn begin.
 */

/** Records the fate of the conversation's turn, for the end of the tree. */
export function noteTurn(
  work: TreeWork,
  run: RunRecord,
  { status, stopReason, isSaved, hasActed }: EndReport,
): void {
  if (hasActed) work.change({ hasActed });
  const isRoot = run.supervision.runId === work.root;
  // A root that never started has written nothing.
  if (isRoot && work.tree.turn?.isKept && !isSaved && run.startedAt !== null)
    work.change({ unsaved: { status, stopReason } });
}

/** Releases the conversation's turn: immediately if it is saved, otherwise by the projector, once it is settled. */
export function leaveConversation(work: TreeWork): void {
  const { session, unsaved, hasActed, scope, turn } = work.tree;
  const tree = { type: "tree", key: work.object.key };
  if (unsaved && work.host.projects) {
    const keep = unsaved.status === "cancelled" || hasActed === true;
    const { userId: user, sessionId } = scope;
    const place = { user, session: sessionId, run: work.root, release: session, at: work.now };
    const back = turn?.after === undefined ? {} : { goesBack: true as const };
    work.orderProjector({ kind: "turn", keep, end: unsaved, ...back, ...place });
  } else if (session) work.object.send(session, "release", Json.of({ tree, at: work.now }));
}
