import type { RunId } from "#kernel";
import type { Draft } from "../draft.ts";
import { getRunPage } from "./line.ts";
import type { Slot } from "../state.ts";

/** Returns the runs from the root down to `run`, both included. Empty for a run that is not alive. */
export function path(
  slots: { readonly get: (run: RunId) => Slot | undefined },
  run: RunId,
): readonly RunId[] {
  const up: RunId[] = [];
  for (let slot = slots.get(run), next: RunId | null = run; slot && next !== null;) {
    up.push(next);
    next = slot.parent;
    slot = next === null ? undefined : slots.get(next);
  }
  return up.toReversed();
}

/** Returns these runs and all their live descendants, each once, in spawn order: parents before their children. */
export function subtree(draft: Draft, ...runs: readonly RunId[]): readonly RunId[] {
  draft.prefetch({ slots: runs });
  const found = new Set(runs.filter((run) => draft.slots.get(run)));
  if (runs.some((run) => (draft.slots.get(run)?.children ?? 0) > 0)) {
    const childrenOf = draft.findChildren();
    // The set grows during the iteration.
    for (const parent of found) for (const child of childrenOf(parent)) found.add(child);
  }
  draft.prefetch({ slots: [...found] });
  const members = [...found].map((run) => [run, draft.slots.need(run)] as const);
  // A run that is cancelled or held leaves the queue.
  draft.prefetch({ pages: members.flatMap(([, slot]) => getRunPage(slot) ?? []) });
  return members.toSorted(([, a], [, b]) => a.order - b.order).map(([run]) => run);
}
