import { Json, keysOf, RunId } from "#kernel";
import { Ledger, type Slot } from "#ledger";
import type { TreeRecord } from "../../src/tree/state/records.ts";
import type { Transition } from "./watched.ts";

/** A live run as the list of live runs has it. */
type LiveEntry = readonly [number: number, parent: number | null, agent: string, priority: string | null];

/**
 * Returns the problem of a tree's list of live runs. Null if there is none: every live run is listed below its parent,
 * those with a slot with their priority, and no other run is.
 */
export function findListProblem(
  state: Transition["state"],
  {
    slots,
    record: { treeId },
  }: { readonly slots: Readonly<Record<RunId, Slot>>; readonly record: TreeRecord },
): string | null {
  const idOf = (number: number): RunId => RunId.of(treeId, number);
  const listed = new Map<RunId, string>();
  for (const [name, page] of state) {
    if (!name.startsWith("live/")) continue;
    for (const [number, parent, , priority] of Json.as<readonly LiveEntry[]>(page))
      listed.set(idOf(number), `${parent === null ? null : idOf(parent)} ${priority}`);
  }
  for (const run of new Set([...listed.keys(), ...keysOf(slots)])) {
    const slot = slots[run];
    const expected = slot && `${slot.parent} ${Ledger.holds(slot) ? slot.priority : null}`;
    if (listed.get(run) !== expected) return `${run} is listed as ${listed.get(run)}`;
  }
  return null;
}
