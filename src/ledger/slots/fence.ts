import type { Epoch } from "#kernel";

/** Executions that were superseded, of which this many are remembered: an older one counts as new. */
const maxOlder = 16;

/** Which execution of a run may begin calls. */
export interface Fence extends Epoch {
  /** Ids of executions that were superseded, newest last. */
  readonly older: readonly string[];
}

/** The fence of a run of which no execution has asked yet. */
export const openFence: Fence = Object.freeze({ id: "", order: null, older: Object.freeze([]) });

/**
 * Lets an execution through the fence of its run. Returns the fence as it is then; null if the execution is superseded.
 *
 * 1. If the engine orders its executions, the later one wins.
 * 2. Else arrival decides: an execution that the tree has not seen supersedes the one that it knows.
 * 3. A superseded execution is refused for good. If it was the live one, because an older execution asked late for the
 *    first time, the engine executes the run again under a new id, which wins by rule 2.
 */
export function passFence(fence: Fence, { id, order }: Epoch): Fence | null {
  if (id === fence.id) return fence;
  if (order !== null && fence.order !== null)
    return order < fence.order ? null : { id, order, older: fence.older };
  if (fence.older.includes(id)) return null;
  const older = fence.id === "" ? fence.older : [...fence.older, fence.id].slice(-maxOlder);
  return { id, order, older };
}
