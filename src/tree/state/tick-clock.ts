import type { ObjectContext } from "#kernel";
import type { TreeRecord } from "./records.ts";

/** Maximum tolerated clock skew between workers. With more, a tree's time may go back. */
const maxSkewMs = 60_000;

/**
 * Returns a tree at the engine's time, but not earlier than the last one within `maxSkewMs`. A tree that is ahead by more
 * was on a worker with a wrong clock, and returns to the right time. Time after the tree's last call in which its worker
 * was not hosted yet counts as time without any worker.
 */
export function tick(
  tree: TreeRecord,
  object: Pick<ObjectContext, "now" | "hostedSince" | "keepsReferences">,
): TreeRecord {
  const now = object.now();
  const clock = tree.clock > now + maxSkewMs ? now : Math.max(tree.clock, now);
  if (clock === tree.clock) return tree;
  // A tree that stays in its process is never without it.
  const absentMs = object.keepsReferences ? 0 : Math.min(clock, object.hostedSince()) - tree.clock;
  if (absentMs <= 0) return { ...tree, clock };
  const { ledger } = tree;
  return { ...tree, clock, ledger: { ...ledger, absentMs: (ledger.absentMs ?? 0) + absentMs } };
}

/**
 * Returns the time that a run states for its own past, limited to between its spawn and `maxSkewMs` after the tree's
 * time.
 */
export const statedTime = (
  at: number,
  { spawnedAt, now }: { readonly spawnedAt: number; readonly now: number },
): number => Math.min(Math.max(at, spawnedAt), now + maxSkewMs);
