import type {
  Diagnostic,
  AgentId,
  ApprovalId,
  BudgetDimension,
  CallDenialReason,
  DenialReason,
  EndStatus,
  ErrorData,
  LimitMet,
  Micros,
  Priority,
  RunId,
  RunStatus,
  StopReason,
  Usage,
} from "#kernel";

/** What a run is busy with, or waits for, as far as its events tell. */
export type Activity =
  | { readonly kind: "starting"; readonly since: number }
  | { readonly kind: "queued"; readonly since: number; readonly victim: RunId | null }
  | { readonly kind: "model"; readonly since: number; readonly model: string }
  | {
      readonly kind: "tool";
      readonly since: number;
      readonly tools: readonly string[];
      readonly progress: string | null;
    }
  | { readonly kind: "helpers"; readonly since: number; readonly agents: readonly string[] }
  | {
      readonly kind: "approval";
      readonly since: number;
      readonly tool: string;
      readonly id: ApprovalId;
      readonly why: string;
    }
  /** A model call waits for money. Amounts as they were when it began to wait. */
  | ({ readonly kind: "budget"; readonly since: number; readonly inFlight: number } & LimitMet)
  | { readonly kind: "retry"; readonly since: number; readonly delayMs: number; readonly error: ErrorData }
  | {
      readonly kind: "paused";
      readonly since: number;
      readonly cause: "preempted" | "held";
      readonly by: RunId | null;
      /** Why the tree itself holds it; null: somebody does. */
      readonly reason: string | null;
    }
  | { readonly kind: "cancelling"; readonly since: number; readonly reason: string }
  | { readonly kind: "between"; readonly since: number }
  | { readonly kind: "ended"; readonly since: number };

/** A call that was refused, and the limit that refused it. */
export interface Denial extends LimitMet {
  readonly reason: CallDenialReason;
}

/** A limit of which 80 % are used. */
export interface Warned {
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
}

/** Somebody who could not be hired. */
export interface RefusedHire {
  readonly agent: string;
  readonly reason: DenialReason;
}

/** A message that nobody will read. */
export interface DeadLetter {
  readonly reason: string;
  readonly attempts: number;
}

/** How a run ended. */
export interface RunEnd {
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly durationMs: number;
  readonly usage: Usage;
  readonly cost: Micros;
  readonly error: ErrorData | null;
  /** The error of its code; null where there is none, or it may not be read. */
  readonly diagnostic: Diagnostic | null;
}

/** One run, as screens show it. */
export interface RunView {
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agent: AgentId;
  readonly priority: Priority;
  readonly status: RunStatus;
  readonly activity: Activity;
  readonly startedAt: number;
  readonly end: RunEnd | null;
  /** Its own model calls, without those of its helpers. */
  readonly own: {
    readonly calls: number;
    readonly usage: Usage;
    readonly cost: Micros;
    readonly inDoubt: Micros;
  };
  /** Money of the run and everything it hired: settled and in doubt. */
  readonly cost: Micros;
  /** The part of `cost` for calls whose outcome is not known. */
  readonly inDoubt: Micros;
  readonly reserved: Micros;
  readonly tokens: number;
  readonly cancelReason: string | null;
  /** The last call that was refused. */
  readonly denial: Denial | null;
  readonly warnings: readonly Warned[];
  readonly guardrail: { readonly guardrail: string; readonly reason: string } | null;
  readonly refusedHires: readonly RefusedHire[];
  /** Messages to it that were given up. */
  readonly deadLetters: readonly DeadLetter[];
  /** The errors of its tools' code, as far as they may be read. */
  readonly brokenTools: readonly Diagnostic[];
  /** Calls that were begun and of whose end nobody knows. */
  readonly lostCalls: number;
  readonly helpers: readonly RunView[];
}
