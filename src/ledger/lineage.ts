import type { RunId } from "#kernel";
import type { Slot } from "./state.ts";
import { entries } from "./table.ts";

type Slots = Readonly<Record<RunId, Slot>>;

/** The runs from the root down to `run`, both included. Empty for a run that is not alive. */
export function path(slots: Slots, run: RunId): readonly RunId[] {
  const up: RunId[] = [];
  for (let next: RunId | null = run; next !== null; next = slots[next]?.parent ?? null) {
    if (slots[next]) up.push(next);
  }
  return up.toReversed();
}

/** `run` and every live run below it, parents before their children. Empty for a run that is not alive. */
export function subtree(slots: Slots, run: RunId): readonly RunId[] {
  if (!slots[run]) return [];
  const hired = Map.groupBy(entries(slots), ([, slot]) => slot.parent);
  const found = [run];
  // Grows while it is walked.
  for (const boss of found) for (const [child] of hired.get(boss) ?? []) found.push(child);
  return found;
}
