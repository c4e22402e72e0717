import type { Epoch } from "#kernel";

/** Maximum number of remembered superseded executions. An older one counts as new. */
const maxOlder = 16;

/** The fence of a run: it decides which execution may begin calls. */
export interface Fence extends Epoch {
  /** Ids of executions that were superseded, newest last. */
  readonly older: readonly string[];
}

/** The fence of a run before its first execution asks. */
export const openFence: Fence = Object.freeze({ id: "", order: null, older: Object.freeze([]) });

/**
 * Passes an execution through the fence of its run. Returns the new fence. Null if the execution is superseded.
 *
 * 1. If the engine orders its executions, the later one wins.
 * 2. Otherwise arrival decides: an unknown execution supersedes the known one.
 * 3. A superseded execution is refused permanently. If it was the live one, because an older execution asked late for
 *    the first time, the engine executes the run again under a new id, which wins by rule 2.
 */
export function passFence(fence: Fence, { id, order }: Epoch): Fence | null {
  if (id === fence.id) return fence;
  if (order !== null && fence.order !== null)
    return order < fence.order ? null : { id, order, older: fence.older };
  if (fence.older.includes(id)) return null;
  const older = fence.id === "" ? fence.older : [...fence.older, fence.id].slice(-maxOlder);
  return { id, order, older };
}
