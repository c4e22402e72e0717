import type { RunRecord } from "../api/records.ts";

/** Sums of calls and runs. */
export interface Figures {
  readonly calls: number;
  readonly settledMicros: number;
  readonly inDoubtMicros: number;
  readonly runs: number;
  readonly stopped: number;
  readonly denied: number;
}

/** The figures of one group. Its fields are the requested dimensions. */
export interface SpendSum extends Figures {
  readonly day?: string;
  readonly hour?: string;
  readonly agent?: string;
  readonly model?: string;
  /** Null: no user. Absent although requested: all users behind the most expensive ones. */
  readonly user?: string | null;
  readonly tree?: string | null;
}

/** The answer of the roll-up. */
export interface SpendAnswer {
  readonly from: number;
  readonly to: number;
  readonly items: readonly SpendSum[];
  readonly more: boolean;
}

/** A model call with unknown outcome. */
export interface DoubtRecord {
  readonly attempt: string;
  readonly treeId: string;
  readonly runId: string;
  readonly stepId: string | null;
  readonly agentType: string;
  readonly model: string;
  readonly at: number;
  readonly tokens: number;
  readonly costMicros: number;
}

/** A tree that a limit or a deadline ended. */
export type StoppedTree = Pick<
  RunRecord,
  "treeId" | "runId" | "name" | "agentId" | "status" | "stopReason" | "costMicros"
>;
