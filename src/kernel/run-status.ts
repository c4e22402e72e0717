import type { ErrorData } from "./errors.ts";
import type { RunId, TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { Micros } from "./money.ts";
import type { Usage } from "./usage.ts";

/** How a run can end. */
export type EndStatus = "completed" | "landed" | "failed" | "cancelled";

/** Where a run stands: queued, at work, waiting for something, without a slot or held, or ended. */
export type RunStatus = "pending" | "running" | "waiting" | "paused" | EndStatus;

/** All statuses, in the order in which a run can have them. */
export const RunStatus = {
  all: Object.freeze([
    "pending",
    "running",
    "waiting",
    "paused",
    "completed",
    "landed",
    "failed",
    "cancelled",
  ]) satisfies readonly RunStatus[],
  /** Those of runs that have not ended. */
  live: Object.freeze(["pending", "running", "waiting", "paused"]) satisfies readonly RunStatus[],
} as const;

/** Why a run ended. */
export type StopReason =
  | "answer"
  | "budget.tokens"
  | "budget.cost"
  | "budget.turns"
  | "budget.agents"
  | "deadline"
  | "cancelled"
  | "parent-ended"
  | "guardrail"
  | "terminated"
  | "error"
  | "exhausted";

/** All stop reasons. */
export const StopReason = {
  all: Object.freeze([
    "answer",
    "budget.tokens",
    "budget.cost",
    "budget.turns",
    "budget.agents",
    "deadline",
    "cancelled",
    "parent-ended",
    "guardrail",
    "terminated",
    "error",
    "exhausted",
  ]) satisfies readonly StopReason[],
} as const;

/** Returns the stop reason of a run that was cancelled for a reason. */
export function toStopReason(reason: string): "deadline" | "parent-ended" | "cancelled" {
  return reason === "deadline" || reason === "parent-ended" ? reason : "cancelled";
}

/** The end of a run. `Output`: the type that its agent states. */
export interface RunResult<Output = Json> {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  /** The value that the agent returned; of a cancelled run, its partial output. Null: there is none, or it was erased. */
  readonly output: Output | null;
  /** Tokens of the run and everything it hired. */
  readonly usage: Usage;
  /** Money of the run and everything it hired, calls in doubt included. */
  readonly costMicros: Micros;
  /** The part of `costMicros` for calls whose outcome is not known: what each may have cost at most. */
  readonly inDoubtMicros: Micros;
  readonly error?: ErrorData | undefined;
  /** What the output is made of. Absent: nothing untrusted, nothing private. */
  readonly labels?: Labels | undefined;
  /** Its words are gone, as its retention says: the output is null, the error has its code only. */
  readonly erased?: true | undefined;
}

/** What a cancel did. */
export interface CancelReceipt {
  readonly reason: string;
  readonly runs: readonly {
    readonly runId: RunId;
    /** Milliseconds from the cancel until the run had ended. */
    readonly tookMs: number;
    /** Money booked on the run itself after the cancel was accepted: what its calls in flight came to. */
    readonly spentAfter: Micros;
  }[];
}
