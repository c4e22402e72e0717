import {
  BacklogFullError,
  ApprovalRefusedError,
  AskFailedError,
  AuditChainError,
  BudgetExhaustedError,
  CancellationError,
  DeltasCutError,
  DisabledError,
  ForeignError,
  GuardrailHalt,
  IdConflictError,
  IncompatibleVersionError,
  InvalidInputError,
  KeyDestroyedError,
  MiddlewareTermination,
  ModelError,
  NestedStepError,
  NoAnswerError,
  NotFoundError,
  OutputError,
  PreemptedError,
  ProgramError,
  ReeveError,
  ReplayDivergenceError,
  RetryableError,
  RunEndedError,
  RuntimeClosedError,
  SealBrokenError,
  StoredValueError,
  StoreRejectionError,
  SessionBusyError,
  StrategyError,
  SupersededError,
  TooLargeError,
  TooManyStepsError,
  ToolRefusedError,
  TurnLostError,
  UnencodableError,
  UnjournaledAwaitError,
  WaitCycleError,
  decodeError,
  encodeError,
} from "#kernel";
import { expect, test } from "vitest";
import { getErrorClasses } from "./error-classes.ts";

const samples: readonly ReeveError[] = [
  new BudgetExhaustedError({ dimension: "cost", limit: 10, used: 9, reason: "unpriced" }),
  new CancellationError({ reason: "user" }),
  new PreemptedError(),
  new SupersededError(),
  new MiddlewareTermination({ reason: "blocked" }),
  new GuardrailHalt({ guardrail: "filter", reason: "no" }),
  new ApprovalRefusedError({ approval: "t~0:tool:1:0", reason: "expired" }),
  new ReplayDivergenceError({ step: "model:3" }),
  new TooManyStepsError({ run: "t~0", limit: 50_000 }),
  new UnjournaledAwaitError({ run: "t~0", lastStep: "look:1" }),
  new NestedStepError({ step: "look:1" }),
  new IdConflictError({ id: "books" }),
  new IdConflictError({ id: "books", isOfOtherProcess: true }),
  new SessionBusyError({ session: "talk" }),
  new BacklogFullError({ what: "topic news", limit: 1_000, unit: "messages" }),
  new TurnLostError({ session: "talk", reason: "overtaken" }),
  new DisabledError({ what: "agent", id: "writer", reason: "leaks" }),
  new RunEndedError({ run: "t~0" }),
  new NotFoundError({ what: "agent", id: "editor" }),
  new WaitCycleError({ cycle: ["t~0", "t~1", "t~0"] }),
  new AskFailedError({ outcome: "timedOut", run: "t~1" }),
  new IncompatibleVersionError({ agent: "editor", wanted: "1", present: "2" }),
  new ToolRefusedError({ tool: "mail", reason: "no" }),
  new KeyDestroyedError({ partition: "acme/books" }),
  new SealBrokenError({ partition: "acme/books", reason: "unknown-key" }),
  new StoreRejectionError({ reason: "22021" }),
  new StoredValueError({ what: "the tree's state run", problem: ".turns is not an integer >= 0" }),
  new AuditChainError({ index: 3, head: 1 }),
  new TooLargeError({ what: "a result", bytes: 11, limit: 10 }),
  new UnencodableError({ what: "the output", problem: "it.n is a bigint" }),
  new NoAnswerError({ call: "cancel", waitedMs: 30_000 }),
  new OutputError({ message: "it does not match", answer: "hm" }),
  new StrategyError({ problem: "no worker answered" }),
  new DeltasCutError({ reason: "too-slow" }),
  new ApprovalRefusedError({ approval: "books~0:tool:1", reason: "expired" }),
  new ProgramError({ problems: ["two agents are named lead: give one of them another name"] }),
  new RuntimeClosedError(),
  new InvalidInputError({ problem: "it is empty" }),
  new RetryableError({ message: "busy", retryAfterMs: 50 }),
  new ModelError({
    kind: "rate-limit",
    message: "slow down",
    statusCode: 429,
    retryAfterMs: 5,
    unbilled: true,
  }),
  new ForeignError({ message: "boom", kind: "TypeError" }),
];

test.each(samples.map((error) => [error.code, error] as const))(
  "%s survives JSON with its class and fields",
  (_, error) => {
    const back = decodeError(JSON.parse(JSON.stringify(encodeError(error))));
    expect(back).toBeInstanceOf(error.constructor);
    expect(back.toJSON()).toEqual(error.toJSON());
    expect(back.retryable).toBe(error.retryable);
  },
);

test("every error class of the kernel is among the samples", async () => {
  expect(new Set(samples.map((error) => error.constructor))).toEqual(await getErrorClasses());
});

test("any value thrown by other code becomes an error record", () => {
  expect(encodeError(new RangeError("too big"))).toEqual({
    code: "foreign",
    kind: "RangeError",
    message: "too big",
  });
  expect(encodeError("plain")).toEqual({ code: "foreign", kind: "string", message: "plain" });
  expect(decodeError({ code: "from-the-future", message: "new" })).toMatchObject({
    kind: "from-the-future",
  });
});

test("errors of the runtime are recognised across copies of the package", () => {
  const copy = Object.assign(new Error("copy"), { [Symbol.for("reeve.error")]: true });
  expect(ReeveError.is(copy)).toBe(true);
  expect(ReeveError.is(new Error("other"))).toBe(false);
});

test("only temporary errors are retryable", () => {
  const retryable = samples.filter((error) => error.retryable).map((error) => error.code);
  expect(retryable).toEqual(["preempted", "superseded", "backlog-full", "no-answer", "retryable", "model"]);
});

test.each([
  [
    { reason: "unpriced", used: 0 },
    "the price of the model is not known, and the cost limit is $0.5: state it with languageModel(model, { price: { input: <micro-dollars per million tokens>, output: <...> } })",
  ],
  [
    { reason: "unbounded", used: 0, remedy: "allow it" },
    "the size of the call is not known, and the cost limit is $0.5: allow it",
  ],
  [
    { reason: "exhausted", used: 2_000 },
    "cost budget exhausted: $0.002 of $0.5 used, and the call does not fit",
  ],
  [{ reason: "exceeded", used: 600_000 }, "cost budget exhausted: $0.6 of $0.5 used (exceeded)"],
] as const)("a refused call names its limit and the remedy: %o", (fields, message) => {
  const error = new BudgetExhaustedError({ dimension: "cost", limit: 500_000, ...fields });
  expect(error.message).toBe(message);
});
