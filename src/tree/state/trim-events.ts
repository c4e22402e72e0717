import { Json } from "#kernel";
import { eventKey } from "./events.ts";
import type { TreeWork } from "./tree-work.ts";

/*
 * Removes events that the store has from a tree that may still be alive. Readers get them from the store.
 *
 * Hooks get the events of their run with the reply to its next call, from the tree. Values that hold such events are left
 * until a later round finds that every hook has them.
 */

/** So many events can be in the store and in the tree. A shorter tree makes no writes to remove them. */
export const maxHeldEvents = 512;

/** Maximum number of events that one call removes. A store that was down for long gives more to remove. */
const mostAtOnce = 2 * maxHeldEvents;

/** The key of the numbers of values that were left for hooks. */
const leftKey = "event-left";

/** Removes old events. `storedUpTo`: number of the last event that the store has. */
export function trimEvents(work: TreeWork, storedUpTo: number): void {
  const { object } = work;
  const { firstEvent, hasUntold = false } = work.tree;
  if (storedUpTo - firstEvent + 1 < maxHeldEvents) return;
  const last = Math.min(storedUpTo, firstEvent + mostAtOnce - 1);
  const left = hasUntold ? leaveUntold(work, { firstEvent, last }) : none;
  for (let first = firstEvent; first <= last; first++) if (!left.has(first)) object.clear(eventKey(first));
  work.change({ firstEvent: last + 1 });
}

const none: ReadonlySet<number> = new Set();

/** Returns the values that hooks need, and removes those that were left before and that none needs any more. */
function leaveUntold(
  work: TreeWork,
  { firstEvent, last }: { readonly firstEvent: number; readonly last: number },
): ReadonlySet<number> {
  const { object } = work;
  const runs = work.allRuns();
  work.load(runs);
  const untold = new Set(runs.flatMap((id) => work.run(id)?.undeliveredEvents ?? []));
  const before = readLeft(work);
  for (const first of before) if (!untold.has(first)) object.clear(eventKey(first));
  const left = [...untold].filter(
    (first) => before.includes(first) || (first >= firstEvent && first <= last),
  );
  object.set(leftKey, left.length === 0 ? null : Json.of(left));
  return new Set(left);
}

const readLeft = ({ object }: TreeWork): readonly number[] => Json.as(object.get(leftKey) ?? []);

/** Removes everything that was left for hooks: the tree has ended. */
export function forgetLeft(work: TreeWork): void {
  const { object, tree } = work;
  if (!tree.hasUntold) return;
  for (const first of readLeft(work)) object.clear(eventKey(first));
  object.clear(leftKey);
}
