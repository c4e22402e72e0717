import { Json, type RunId } from "#kernel";
import type { ArgumentOf, TreeMethod } from "./protocol.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** How long a run may take to end by its own timer once its deadline is over. */
const deadlineGraceMs = 2_000;

/**
 * Sends the tree a message to itself. The process of a local engine need not live on for it. Once the key of the tree is
 * destroyed it cannot be read, and is dropped: the tree has ended.
 */
function remind<Method extends TreeMethod>(
  work: TreeWork,
  method: Method,
  { delayMs, argument }: { readonly delayMs: number; readonly argument: ArgumentOf<Method> },
): void {
  const self = { type: "tree", key: work.object.key };
  work.object.send(self, method, Json.of(argument), { delayMs, bestEffort: true });
}

/** Has the tree look after the runs of a cancel when they have had their time to end. */
export function armCancel(work: TreeWork, number: number): void {
  const { cancelGraceMs } = work.tree;
  const argument = { number, at: work.now + cancelGraceMs };
  remind(work, "cancelOverdue", { delayMs: cancelGraceMs, argument });
}

/** Has the tree look after a run when its deadline is over. */
export function armDeadline(work: TreeWork, run: RunId): void {
  const deadline = work.slot(run)?.deadline ?? null;
  if (deadline !== null) armTimer(work, deadline + deadlineGraceMs);
}

/**
 * Has the tree look after deadlines, and after reservations that waiting calls need, at a moment. A tree holds one timer,
 * for the earliest of them: a later one is armed when that has passed.
 */
export function armTimer(work: TreeWork, due: number): void {
  const { timer } = work.tree;
  if (timer !== null && timer <= due) return;
  work.change({ timer: due });
  remind(work, "timerDue", { delayMs: Math.max(0, due - work.now), argument: { at: due } });
}
