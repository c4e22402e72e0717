import type { ErrorData } from "./errors.ts";
import type { RunId, TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { Micros } from "./money.ts";
import type { Usage } from "./usage.ts";

/** The final statuses of a run. */
export type EndStatus = "completed" | "landed" | "failed" | "cancelled";

/** The status of a run: queued, working, waiting, without a slot or held, or ended. */
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
  /** Statuses of runs that have not ended. */
  live: Object.freeze(["pending", "running", "waiting", "paused"]) satisfies readonly RunStatus[],
} as const;

/** The reason why a run ended. */
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
  /** The value that the agent returned, or the partial output of a cancelled run. Null: none, or erased. */
  readonly output: Output | null;
  /** Tokens of the run and its descendants. */
  readonly usage: Usage;
  /** Cost of the run and its descendants, including calls in doubt. */
  readonly costMicros: Micros;
  /** The part of `costMicros` for calls whose outcome is unknown: the maximum cost of each. */
  readonly inDoubtMicros: Micros;
  readonly error?: ErrorData | undefined;
  /** Labels of the output. Absent: none. */
  readonly labels?: Labels | undefined;
  /** Set if the content is erased by its retention: the output is null, and the error has only its code. */
  readonly erased?: true | undefined;
}

/** A result as a server sends it. */
export interface SentResult<Output = Json> extends RunResult<Output> {
  /** Set if the caller may not read content: the output is null, and the error has only its code. */
  readonly withheld?: true | undefined;
}

/** The effect of a cancel. */
export interface CancelReceipt {
  readonly reason: string;
  readonly runs: readonly {
    readonly runId: RunId;
    /** Milliseconds from the cancel until the run had ended. */
    readonly tookMs: number;
    /** Cost booked on the run itself after the cancel was accepted: the cost of its calls in flight. */
    readonly spentAfter: Micros;
  }[];
}
