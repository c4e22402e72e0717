import { Json, type RunId } from "#kernel";
import type { ArgumentOf, TreeMethod } from "./protocol.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** Time for a run to end by its own timer after its deadline. */
const deadlineGraceMs = 2_000;

/**
 * Sends the tree a message to itself. It does not keep the process of a local engine alive. Once the tree's key is
 * destroyed, the message cannot be read and is dropped: the tree has ended.
 */
function remind<Method extends TreeMethod>(
  work: TreeWork,
  method: Method,
  { delayMs, argument }: { readonly delayMs: number; readonly argument: ArgumentOf<Method> },
): void {
  const self = { type: "tree", key: work.object.key };
  work.object.send(self, method, Json.of(argument), { delayMs, bestEffort: true });
}

/** Arms the timer after which the tree ends the runs of a cancel itself. */
export function armCancel(work: TreeWork, number: number): void {
  const { cancelGraceMs } = work.tree;
  const argument = { number, at: work.now + cancelGraceMs };
  remind(work, "cancelOverdue", { delayMs: cancelGraceMs, argument });
}

/** Arms the timer for a run's deadline. */
export function armDeadline(work: TreeWork, run: RunId): void {
  const deadline = work.slot(run)?.deadline ?? null;
  if (deadline !== null) armTimer(work, deadline + deadlineGraceMs);
}

/**
 * Arms the timer for deadlines, and for reservations that waiting calls need. A tree holds one timer, for the earliest
 * of them. The next one is armed when that has passed.
 */
export function armTimer(work: TreeWork, due: number): void {
  const { timer } = work.tree;
  if (timer !== null && timer <= due) return;
  work.change({ timer: due });
  remind(work, "timerDue", { delayMs: Math.max(0, due - work.now), argument: { at: due } });
}
