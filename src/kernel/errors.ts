import { budgetMessage } from "./budget-message.ts";
import type { BudgetDimension, DenialReason, LimitAccount } from "./denial.ts";

const marker = Symbol.for("reeve.error");

/** An error as plain data. `code` names the class; the other fields are its own. */
export interface ErrorData {
  readonly code: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

/** Base class of every error that Reeve throws. It carries data, survives JSON, and states whether a retry may help. */
export abstract class ReeveError extends Error {
  abstract readonly code: string;
  /** Whether the same call may succeed if it is repeated. */
  readonly retryable: boolean = false;
  readonly [marker] = true;

  /** Recognizes our errors across copies of this package. */
  static is(error: unknown): error is ReeveError {
    return error instanceof Error && marker in error;
  }

  toJSON(): ErrorData {
    const { name: _name, stack: _stack, cause: _cause, ...fields } = Object.assign({}, this);
    return { ...fields, code: this.code, message: this.message };
  }
}

/** A limit does not allow this. Never retried. `limit` and `used` are tokens, micro-dollars, calls or agents. */
export class BudgetExhaustedError extends ReeveError {
  readonly code = "budget-exhausted";
  readonly dimension: BudgetDimension;
  readonly limit: number;
  readonly used: number;
  readonly reason: DenialReason | null;
  /** The blocker and its fix. Absent if only a higher limit helps. */
  declare readonly remedy?: string;
  /** For a model call: the account whose limit it is. */
  readonly account: LimitAccount | undefined;
  /** For a model call: the run whose limit it is. Null: the tree's, the tenant's or the user's. */
  readonly owner: string | null | undefined;
  /** For a model call: the part of `used` that calls in flight hold, or other trees of the tenant. */
  readonly reserved: number | undefined;
  /** For a model call: the part of `used` for calls whose outcome is not known. */
  readonly inDoubt: number | undefined;

  constructor(fields: {
    readonly dimension: BudgetDimension;
    readonly limit: number;
    readonly used: number;
    readonly reason?: DenialReason | null;
    readonly remedy?: string | null | undefined;
    readonly account?: LimitAccount | undefined;
    readonly owner?: string | null | undefined;
    readonly reserved?: number | undefined;
    readonly inDoubt?: number | undefined;
  }) {
    super(budgetMessage(fields));
    this.dimension = fields.dimension;
    this.limit = fields.limit;
    this.used = fields.used;
    this.reason = fields.reason ?? null;
    if (fields.remedy) this.remedy = fields.remedy;
    this.account = fields.account;
    this.owner = fields.owner;
    this.reserved = fields.reserved;
    this.inDoubt = fields.inDoubt;
  }
}

/** The run was cancelled, or its deadline passed (`reason` is then `deadline`). Never retried. */
export class CancellationError extends ReeveError {
  readonly code = "cancelled";
  readonly reason: string;

  constructor({ reason }: { readonly reason: string }) {
    super(`cancelled: ${reason}`);
    this.reason = reason;
  }
}

/** A call is aborted because its run lost its slot and did not yield in time. The call may be made again. */
export class PreemptedError extends ReeveError {
  readonly code = "preempted";
  override readonly retryable = true;

  constructor() {
    super("the call was aborted: its run must yield its slot");
  }
}

/** Another execution of the same run has passed the gate since. The engine executes the run again, or drops this one. */
export class SupersededError extends ReeveError {
  readonly code = "superseded";
  override readonly retryable = true;

  constructor() {
    super("another execution of this run has passed the gate: this one must not start more steps");
  }
}

/** A middleware stopped the call it wraps. Never retried, never cached. */
export class MiddlewareTermination extends ReeveError {
  readonly code = "middleware-termination";
  readonly reason: string;

  constructor({ reason }: { readonly reason: string }) {
    super(`stopped by middleware: ${reason}`);
    this.reason = reason;
  }
}

/** A guardrail ended the run. Never retried. */
export class GuardrailHalt extends ReeveError {
  readonly code = "guardrail";
  readonly guardrail: string;
  readonly reason: string;

  constructor({ guardrail, reason }: { readonly guardrail: string; readonly reason: string }) {
    super(`${guardrail}: ${reason}`);
    this.guardrail = guardrail;
    this.reason = reason;
  }
}

/** Replayed code requested something else than the journal holds at that position. */
export class ReplayDivergenceError extends ReeveError {
  readonly code = "replay-divergence";
  readonly step: string;

  constructor({ step }: { readonly step: string }) {
    super(`replay diverged at ${step}: the code does not match the journal`);
    this.step = step;
  }
}

/** Agent code awaits something that is not a `ctx` call: it could not be replayed. */
export class UnjournaledAwaitError extends ReeveError {
  readonly code = "unjournaled-await";
  readonly run: string;
  readonly lastStep: string | null;

  constructor({ run, lastStep }: { readonly run: string; readonly lastStep: string | null }) {
    super(`run ${run} awaits something outside ctx, after ${lastStep ?? "its start"}: wrap it in ctx.step()`);
    this.run = run;
    this.lastStep = lastStep;
  }
}

/** An execution has made more steps than can be replayed in good time. */
export class TooManyStepsError extends ReeveError {
  readonly code = "too-many-steps";
  readonly run: string;
  readonly limit: number;

  constructor({ run, limit }: { readonly run: string; readonly limit: number }) {
    super(
      `run ${run} has made ${limit} steps in one execution: return ctx.continueAs(state) from time to time`,
    );
    this.run = run;
    this.limit = limit;
  }
}

/** A `ctx` method was called inside a step. */
export class NestedStepError extends ReeveError {
  readonly code = "nested-step";
  readonly step: string;

  constructor({ step }: { readonly step: string }) {
    super(`ctx was used inside ${step}: use it before or after the step`);
    this.step = step;
  }
}

/** The session is in a turn or a compaction. */
export class SessionBusyError extends ReeveError {
  readonly code = "session-busy";
  readonly session: string;

  constructor({ session }: { readonly session: string }) {
    super(`session ${session} is busy`);
    this.session = session;
  }
}

/** The run has ended: it can no longer be changed. */
export class RunEndedError extends ReeveError {
  readonly code = "run-ended";
  readonly run: string;

  constructor({ run }: { readonly run: string }) {
    super(`run ${run} has ended`);
    this.run = run;
  }
}

/** No such tree, run, attempt, tool or agent here. */
export class NotFoundError extends ReeveError {
  readonly code = "not-found";
  readonly what: string;
  readonly id: string;

  constructor({ what, id }: { readonly what: string; readonly id: string }) {
    super(`no ${what} ${id}`);
    this.what = what;
    this.id = id;
  }
}

/** This ask would close a circle of runs that wait on each other. */
export class WaitCycleError extends ReeveError {
  readonly code = "wait-cycle";
  readonly cycle: readonly string[];

  constructor({ cycle }: { readonly cycle: readonly string[] }) {
    super(`these runs would wait for each other forever: ${cycle.join(" -> ")}`);
    this.cycle = cycle;
  }
}

/** An ask of `askOrThrow` that ended without a reply. */
export class AskFailedError extends ReeveError {
  readonly code = "ask-failed";
  readonly outcome: "timedOut" | "failed" | "cancelled" | "endedWithoutReply" | "paused";
  readonly run: string;

  constructor({ outcome, run }: { readonly outcome: AskFailedError["outcome"]; readonly run: string }) {
    super(`no reply from ${run}: ${outcome}`);
    this.outcome = outcome;
    this.run = run;
  }
}

/** The run needs another version of its agent than this worker has. It waits, untouched. */
export class IncompatibleVersionError extends ReeveError {
  readonly code = "incompatible-version";
  readonly agent: string;
  readonly wanted: string;
  readonly present: string;

  constructor(fields: { readonly agent: string; readonly wanted: string; readonly present: string }) {
    super(`agent ${fields.agent} is at version ${fields.present} here; the run began with ${fields.wanted}`);
    this.agent = fields.agent;
    this.wanted = fields.wanted;
    this.present = fields.present;
  }
}

/** A tool may not be called like this. */
export class ToolRefusedError extends ReeveError {
  readonly code = "tool-refused";
  readonly tool: string;
  readonly reason: string;

  constructor({ tool, reason }: { readonly tool: string; readonly reason: string }) {
    super(`tool ${tool} refused: ${reason}`);
    this.tool = tool;
    this.reason = reason;
  }
}

/** The key of this partition was destroyed. Content sealed with it can never be read again. */
export class KeyDestroyedError extends ReeveError {
  readonly code = "key-destroyed";
  readonly partition: string;

  constructor({ partition }: { readonly partition: string }) {
    super(`the key of ${partition} was destroyed: its content cannot be read`);
    this.partition = partition;
  }
}

/** The bytes were not sealed by a key of this partition, or were changed. They are never returned. */
export class SealBrokenError extends ReeveError {
  readonly code = "seal-broken";
  readonly partition: string;
  /** `older-format`: written by a release that did not bind values to their position. That release can open it. */
  readonly reason: "unknown-key" | "not-authentic" | "not-sealed" | "older-format";

  constructor(fields: { readonly partition: string; readonly reason: SealBrokenError["reason"] }) {
    const fix = fields.reason === "older-format" ? ": serve the release it was written with" : "";
    super(`cannot decrypt data of ${fields.partition}: ${fields.reason}${fix}`);
    this.partition = fields.partition;
    this.reason = fields.reason;
  }
}

/** The link does not follow the head of the audit chain: another was appended first, or it repeats a recorded event. */
export class AuditChainError extends ReeveError {
  readonly code = "audit-chain";
  /** Index of the refused link. */
  readonly index: number;
  /** Index of the head. Null while the chain is empty. */
  readonly head: number | null;

  constructor({ index, head }: { readonly index: number; readonly head: number | null }) {
    super(`link ${index} does not follow the head of the audit chain, ${head ?? "which is empty"}`);
    this.index = index;
    this.head = head;
  }
}

/** A value exceeds a size limit of storage or transport. Never retried. */
export class TooLargeError extends ReeveError {
  readonly code = "too-large";
  readonly what: string;
  readonly bytes: number;
  readonly limit: number;

  constructor(fields: { readonly what: string; readonly bytes: number; readonly limit: number }) {
    super(`${fields.what} has ${fields.bytes} bytes: at most ${fields.limit} are possible`);
    this.what = fields.what;
    this.bytes = fields.bytes;
    this.limit = fields.limit;
  }
}

/** A failure that may pass: thrown inside a step, it is retried and not recorded. */
export class RetryableError extends ReeveError {
  readonly code = "retryable";
  override readonly retryable = true;
  /** Delay before the next try, as given by the other side. Null if unknown. */
  readonly retryAfterMs: number | null;

  constructor(fields: { readonly message: string; readonly retryAfterMs?: number | null }) {
    super(fields.message);
    this.retryAfterMs = fields.retryAfterMs ?? null;
  }
}

/** A value that JSON cannot hold. Never retried: the same code would make it again. */
export class UnencodableError extends ReeveError {
  readonly code = "unencodable";
  /** The name of the value: the output of a run, the result of a step. */
  readonly what: string;
  /** The path inside the value, and the reason. */
  readonly problem: string;

  constructor(fields: { readonly what: string; readonly problem: string }) {
    super(`${fields.what} cannot be encoded as JSON: ${fields.problem}`);
    this.what = fields.what;
    this.problem = fields.problem;
  }
}

/** The engine accepted a call, but no worker answered in time. The call is executed when a worker is back. */
export class NoAnswerError extends ReeveError {
  readonly code = "no-answer";
  override readonly retryable = true;
  readonly call: string;
  readonly waitedMs: number;

  constructor(fields: { readonly call: string; readonly waitedMs: number }) {
    super(
      `no worker answered ${fields.call} within ${fields.waitedMs} ms; the call is kept for the next worker`,
    );
    this.call = fields.call;
    this.waitedMs = fields.waitedMs;
  }
}

/** A subscriber to live text gets no more pieces. `refused`: it has not proved that it may read them. */
export class DeltasCutError extends ReeveError {
  readonly code = "deltas-cut";
  readonly reason: "too-slow" | "too-many" | "refused";

  constructor(fields: Pick<DeltasCutError, "reason">) {
    super(`the stream of answer deltas ended: ${fields.reason}`);
    this.reason = fields.reason;
  }
}

/** An error that is not a ReeveError, kept as data. */
export class ForeignError extends ReeveError {
  readonly code = "foreign";
  /** The original's `name`. */
  readonly kind: string;

  constructor(fields: { readonly message: string; readonly kind?: string }) {
    super(fields.message);
    this.kind = fields.kind ?? "Error";
  }
}
