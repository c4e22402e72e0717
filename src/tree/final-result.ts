import type { RunResult } from "#kernel";
import type { FinalResult } from "./report.ts";
import { ownCopiesMs } from "./state/ended-runs.ts";
import type { TreeRecord } from "./state/records.ts";
import { findExcess } from "./state/size.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** Maximum size of a result that is copied into the final result. A longer one is kept only in the tree. */
const maxFinalBytes = 64_000;

/**
 * Returns the result of the run that has just ended, if it is the final result of its tree. Null if runs are still
 * live, if a call is in doubt (it may be reconciled), or if the result is large. Callers then ask the tree.
 */
export function finalResult(work: TreeWork, result: RunResult): FinalResult | null {
  const { tree, root } = work;
  if (result.runId !== root || tree.status !== "closed") return null;
  const { inDoubt } = tree.ledger.account;
  if (inDoubt.tokens > 0 || inDoubt.costMicros > 0) return null;
  const final = ofTree(tree, result);
  if (findExcess("a final result", final, maxFinalBytes)) return null;
  return { result: final, until: work.now + ownCopiesMs(work.host) };
}

/** Returns the result of a root with the total spend of its tree. */
export function ofTree({ ledger: { account } }: TreeRecord, result: RunResult): RunResult {
  const { usage, settled, inDoubt } = account;
  const costMicros = settled.costMicros + inDoubt.costMicros;
  return { ...result, usage, costMicros, inDoubtMicros: inDoubt.costMicros };
}
