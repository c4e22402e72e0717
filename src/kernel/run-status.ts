import type { ErrorData } from "./errors.ts";
import type { RunId, TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { Micros, Usage } from "./money.ts";

/** How a run can end. */
export type EndStatus = "completed" | "landed" | "failed" | "cancelled";

/** Where a run stands: queued, at work, waiting for something, without a slot or held, or ended. */
export type RunStatus = "pending" | "running" | "waiting" | "paused" | EndStatus;

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
  | "dead-letter"
  | "exhausted";

/** What a run leaves behind. */
export interface RunResult {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  /** What the agent returned; on a cancelled run, what it had so far. */
  readonly output: Json;
  /** Tokens of the run and everything it hired. */
  readonly usage: Usage;
  /** Money of the run and everything it hired, attempts in doubt included. */
  readonly spend: Micros;
  /** The part of `spend` whose outcome nobody knows. */
  readonly inDoubt: Micros;
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
