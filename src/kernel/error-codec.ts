import {
  AskFailedError,
  AuditChainError,
  BudgetExhaustedError,
  CancellationError,
  DeltasCutError,
  ForeignError,
  GuardrailHalt,
  IncompatibleVersionError,
  KeyDestroyedError,
  MiddlewareTermination,
  NestedStepError,
  NoAnswerError,
  NotFoundError,
  PreemptedError,
  SupersededError,
  ReeveError,
  ReplayDivergenceError,
  RetryableError,
  RunEndedError,
  SealBrokenError,
  SessionBusyError,
  TooLargeError,
  TooManyStepsError,
  ToolRefusedError,
  UnencodableError,
  UnjournaledAwaitError,
  WaitCycleError,
  type ErrorData,
} from "./errors.ts";

import { ApprovalRefusedError } from "./approval.ts";
import { BacklogFullError } from "./backlog-full-error.ts";
import { DisabledError } from "./disabled-error.ts";
import { IdConflictError } from "./id-conflict-error.ts";
import { InvalidInputError } from "./input.ts";
import { findJsonProblem } from "./json.ts";
import { ModelError } from "./model-error.ts";
import { ProgramError, RuntimeClosedError } from "./program-error.ts";
import { StoredValueError, StoreRejectionError } from "./stored-value-error.ts";
import { OutputError, StrategyError } from "./strategy-error.ts";
import { TurnLostError } from "./turn-lost-error.ts";

// The constructors check nothing: stored errors come from our own `toJSON`.
const classes: Readonly<Record<string, new (fields: never) => ReeveError>> = {
  "budget-exhausted": BudgetExhaustedError,
  cancelled: CancellationError,
  preempted: PreemptedError,
  superseded: SupersededError,
  "middleware-termination": MiddlewareTermination,
  guardrail: GuardrailHalt,
  "replay-divergence": ReplayDivergenceError,
  "unjournaled-await": UnjournaledAwaitError,
  "too-many-steps": TooManyStepsError,
  "nested-step": NestedStepError,
  "id-conflict": IdConflictError,
  disabled: DisabledError,
  "session-busy": SessionBusyError,
  "turn-lost": TurnLostError,
  "run-ended": RunEndedError,
  "not-found": NotFoundError,
  "wait-cycle": WaitCycleError,
  "ask-failed": AskFailedError,
  "incompatible-version": IncompatibleVersionError,
  "tool-refused": ToolRefusedError,
  "key-destroyed": KeyDestroyedError,
  "seal-broken": SealBrokenError,
  "stored-value": StoredValueError,
  "store-rejected": StoreRejectionError,
  "approval-refused": ApprovalRefusedError,
  "audit-chain": AuditChainError,
  "invalid-input": InvalidInputError,
  "too-large": TooLargeError,
  "backlog-full": BacklogFullError,
  unencodable: UnencodableError,
  "no-answer": NoAnswerError,
  output: OutputError,
  strategy: StrategyError,
  "deltas-cut": DeltasCutError,
  "invalid-program": ProgramError,
  "runtime-closed": RuntimeClosedError,
  retryable: RetryableError,
  model: ModelError,
  foreign: ForeignError,
};

/** Converts any thrown value to plain data. Never throws, even if reading the value does. */
export function encodeError(error: unknown): ErrorData {
  try {
    const data = dataOf(error);
    if (findJsonProblem(data) === null) return data;
  } catch {
    // Its fields, or its text, cannot be read.
  }
  return { code: "foreign", kind: "unreadable", message: "an error that cannot be read or encoded" };
}

function dataOf(error: unknown): ErrorData {
  if (ReeveError.is(error)) return error.toJSON();
  if (error instanceof Error) return { code: "foreign", kind: error.name, message: error.message };
  return { code: "foreign", kind: typeof error, message: String(error) };
}

/**
 * Returns the error that an {@link ErrorData} encodes. An unknown code, or invalid data, gives a {@link ForeignError}.
 */
export function decodeError(data: ErrorData): ReeveError {
  try {
    // Names of inherited object members are not codes.
    const known = Object.hasOwn(classes, data.code) ? classes[data.code] : undefined;
    if (known) return new known(data as never);
    return new ForeignError({ kind: data.code, message: data.message ?? data.code });
  } catch {
    return new ForeignError({ kind: "unreadable", message: "an error that cannot be decoded" });
  }
}
