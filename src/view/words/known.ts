import type { ApprovalRecord, Obstacle, RunId, RunResult, RunStatus } from "#kernel";
import type { AgentView } from "../agent-view.ts";

/** What the ledger says of a tree, as far as it explains anything. */
interface LedgerFacts {
  readonly tree: {
    readonly maxAgents: number;
    readonly liveAgents: number;
  };
}

/** How a run stands, as its tree and its engine say. Events tell less. */
export interface Facts {
  readonly status: RunStatus;
  readonly obstacle: Obstacle | null;
}

/** Everything that is known about a run. */
export interface Known {
  readonly run: AgentView;
  /** Who hired it; null for a root. */
  readonly parent: AgentView | null;
  /** Of the run and those below it, as far as they were asked. */
  readonly facts: ReadonlyMap<RunId, Facts>;
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
  /** What can be done about it: a command, or a line of code. */
  readonly hints: readonly string[];
}

/** Of a run of which only its events are known. */
export function fromEvents(run: AgentView, parent: AgentView | null = null): Known {
  return { run, parent, facts: new Map(), result: null, ledger: null, pending: [] };
}

/** What is said of calls that nobody heard of again. */
export function lostText(calls: number): string {
  return calls === 1
    ? "One model call was lost with its worker. It is booked at its ceiling, in doubt."
    : `${calls} model calls were lost with their workers. They are booked at their ceilings, in doubt.`;
}
