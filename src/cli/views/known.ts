import type { ApprovalRecord, Micros, RunResult, RunStatus } from "#kernel";
import type { RunView } from "../tree/run-view.ts";

/** What the ledger says of a tree, as far as it explains anything. */
interface LedgerFacts {
  readonly tree: {
    readonly maxTokens: number | null;
    readonly maxCost: Micros | null;
    readonly maxAgents: number;
    readonly liveAgents: number;
  };
}

/** Everything that is known about a run. */
export interface Known {
  readonly run: RunView;
  /** Who hired it; null for a root. */
  readonly boss: RunView | null;
  /** As the tree itself says. */
  readonly status: RunStatus;
  readonly result: RunResult | null;
  /** Null once the tree is over. */
  readonly ledger: LedgerFacts | null;
  /** Questions of this tree that nobody has answered. */
  readonly pending: readonly ApprovalRecord[];
}

/** Why a run stopped or waits, in words. */
export interface Why {
  readonly answer: string;
  readonly details: readonly string[];
  /** What can be done about it: commands. */
  readonly hints: readonly string[];
}

/** What is said of calls that nobody heard of again. */
export function lostText(calls: number): string {
  return calls === 1
    ? "One model call was lost with its worker: it is booked at its ceiling, in doubt."
    : `${calls} model calls were lost with their workers: they are booked at their ceilings, in doubt.`;
}
