import type { TreeId } from "#kernel";
import { partitionOf } from "../auth.ts";
import type { Call } from "../route.ts";

/**
 * Resolves when the store has heard of a tree that was started, at the latest after `answerS`. Starts are accepted faster
 * than runs are carried: how long this takes tells how far what carries them is behind.
 */
export async function heardOf({ host, principal }: Call, tree: TreeId): Promise<void> {
  const { clock, limits, runtime } = host;
  const late = new AbortController();
  const disarm = clock.callAt(clock.now() + limits.answerS * 1000, () => late.abort(), { mayLapse: true });
  try {
    await runtime.store.events.changed(partitionOf(principal), tree, 0, late.signal);
  } finally {
    disarm();
  }
}
