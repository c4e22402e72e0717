import type { RunResult } from "#kernel";
import type { FinalResult } from "./report.ts";
import { ownCopiesMs } from "./state/ended-runs.ts";
import type { TreeRecord } from "./state/records.ts";
import { findExcess } from "./state/size.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** A longer one is kept once, in the tree. */
const maxFinalBytes = 64_000;

/**
 * Returns the result of the run that has just ended if it is the final one of its tree; null if runs go on, if a call is in
 * doubt, which may be reconciled, or if the result is large. Then the tree is asked.
 */
export function finalResult(work: TreeWork, result: RunResult): FinalResult | null {
  const { tree, root } = work;
  if (result.runId !== root || tree.status !== "closed") return null;
  const { inDoubt } = tree.ledger.account;
  if (inDoubt.tokens > 0 || inDoubt.costMicros > 0) return null;
  const final = ofTree(tree, result);
  if (findExcess("a final result", final, maxFinalBytes)) return null;
  const retention = work.lastKnown(root)?.supervision.retention ?? "none";
  return { result: final, until: retention === "permanent" ? null : work.now + ownCopiesMs(work.host) };
}

/** Returns the result of a root with all that its tree has spent. */
export function ofTree({ ledger: { account } }: TreeRecord, result: RunResult): RunResult {
  const { usage, settled, inDoubt } = account;
  const costMicros = settled.costMicros + inDoubt.costMicros;
  return { ...result, usage, costMicros, inDoubtMicros: inDoubt.costMicros };
}
