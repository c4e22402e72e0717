import type { SentApproval, Blocker, RunId, SentResult, RunStatus } from "#kernel";
import type { AgentView } from "../agent-view.ts";

/** The facts of a tree's ledger that explain its state. */
interface LedgerFacts {
  readonly tree: {
    readonly maxAgents: number;
    readonly liveAgents: number;
  };
}

/** The state of a run according to its tree and its engine. Events report less. */
export interface Facts {
  readonly status: RunStatus;
  readonly blocker: Blocker | null;
}

/** All facts about a run. */
export interface RunFacts {
  readonly run: AgentView;
  /** The parent run. Null for a root. */
  readonly parent: AgentView | null;
  /** Facts of the run and of those descendants that were queried. */
  readonly facts: ReadonlyMap<RunId, Facts>;
  readonly result: SentResult | null;
  /** Null once the tree is over. */
  readonly ledger: LedgerFacts | null;
  /** Undecided approval questions of this tree. */
  readonly pending: readonly SentApproval[];
}

/** An explanation why a run stopped or waits. */
export interface Why {
  readonly answer: string;
  readonly details: readonly string[];
  /** Remedies: a command, or a line of code. */
  readonly hints: readonly string[];
}

/** Returns the facts of a run of which only events are available. */
export function fromEvents(run: AgentView, parent: AgentView | null = null): RunFacts {
  return { run, parent, facts: new Map(), result: null, ledger: null, pending: [] };
}

/** Describes calls whose outcome is unknown. */
export function lostText(calls: number): string {
  return calls === 1
    ? "One model call was lost with its worker. It is booked at its ceiling, in doubt."
    : `${calls} model calls were lost with their workers. They are booked at their ceilings, in doubt.`;
}
