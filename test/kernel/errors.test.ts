import * as kernel from "reeve/kernel";
import { expect, test } from "vitest";

const samples: readonly kernel.ReeveError[] = [
  new kernel.BudgetExhaustedError({ dimension: "cost", limit: 10, used: 9, reason: "unpriced" }),
  new kernel.CancellationError({ reason: "user" }),
  new kernel.PreemptedError(),
  new kernel.SupersededError(),
  new kernel.MiddlewareTermination({ reason: "blocked" }),
  new kernel.GuardrailHalt({ guardrail: "filter", reason: "no" }),
  new kernel.ApprovalRefusedError({ approval: "t~0:tool:1:0", reason: "expired" }),
  new kernel.ReplayDivergenceError({ step: "model:3" }),
  new kernel.TooManyStepsError({ run: "t~0", limit: 50_000 }),
  new kernel.UnjournaledAwaitError({ run: "t~0", lastStep: "look:1" }),
  new kernel.NestedStepError({ step: "look:1" }),
  new kernel.IdConflictError({ id: "books" }),
  new kernel.SessionBusyError({ session: "talk" }),
  new kernel.DisabledError({ what: "agent", id: "writer", reason: "leaks" }),
  new kernel.RunEndedError({ run: "t~0" }),
  new kernel.NotFoundError({ what: "agent", id: "clerk" }),
  new kernel.WaitCycleError({ cycle: ["t~0", "t~1", "t~0"] }),
  new kernel.AskFailedError({ outcome: "timedOut", run: "t~1" }),
  new kernel.IncompatibleVersionError({ agent: "clerk", wanted: "1", present: "2" }),
  new kernel.ToolRefusedError({ tool: "mail", reason: "no" }),
  new kernel.KeyDestroyedError({ partition: "acme/books" }),
  new kernel.SealBrokenError({ partition: "acme/books", reason: "unknown-key" }),
  new kernel.AuditChainError({ index: 3, head: 1 }),
  new kernel.TooLargeError({ what: "a result", bytes: 11, limit: 10 }),
  new kernel.UnencodableError({ what: "the output", problem: "it.n is a bigint" }),
  new kernel.NoAnswerError({ call: "cancel", waitedMs: 30_000 }),
  new kernel.OutputError({ message: "it does not match", answer: "hm" }),
  new kernel.StrategyError({ problem: "no worker answered" }),
  new kernel.DeltasCutError({ reason: "too-slow" }),
  new kernel.ApprovalRefusedError({ approval: "books~0:tool:1", reason: "expired" }),
  new kernel.ProgramError({ problems: ["two agents are named lead: give one of them another name"] }),
  new kernel.RuntimeClosedError(),
  new kernel.InvalidInputError({ problem: "it is empty" }),
  new kernel.RetryableError({ message: "busy", retryAfterMs: 50 }),
  new kernel.ModelError({
    kind: "rate-limit",
    message: "slow down",
    statusCode: 429,
    retryAfterMs: 5,
    unbilled: true,
  }),
  new kernel.ForeignError({ message: "boom", kind: "TypeError" }),
];

test.each(samples.map((error) => [error.code, error] as const))(
  "%s survives JSON with its class and fields",
  (_, error) => {
    const back = kernel.decodeError(JSON.parse(JSON.stringify(kernel.encodeError(error))));
    expect(back).toBeInstanceOf(error.constructor);
    expect(back.toJSON()).toEqual(error.toJSON());
    expect(back.retryable).toBe(error.retryable);
  },
);

test("every error class of the kernel is among the samples", () => {
  const classes = Object.values(kernel).filter(
    (value) => typeof value === "function" && value.prototype instanceof kernel.ReeveError,
  );
  expect(new Set(samples.map((error) => error.constructor))).toEqual(new Set(classes));
});

test("a thrown value of somebody else becomes data, whatever it is", () => {
  expect(kernel.encodeError(new RangeError("too big"))).toEqual({
    code: "foreign",
    kind: "RangeError",
    message: "too big",
  });
  expect(kernel.encodeError("plain")).toEqual({ code: "foreign", kind: "string", message: "plain" });
  expect(kernel.decodeError({ code: "from-the-future", message: "new" })).toMatchObject({
    kind: "from-the-future",
  });
});

test("our errors are recognised across copies of the package", () => {
  const copy = Object.assign(new Error("copy"), { [Symbol.for("reeve.error")]: true });
  expect(kernel.ReeveError.is(copy)).toBe(true);
  expect(kernel.ReeveError.is(new Error("other"))).toBe(false);
});

test("only what may pass says that it may be retried", () => {
  const retryable = samples.filter((error) => error.retryable).map((error) => error.code);
  expect(retryable).toEqual(["preempted", "superseded", "no-answer", "retryable", "model"]);
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
] as const)("a refused call says which limit it met and what allows it: %o", (fields, message) => {
  const error = new kernel.BudgetExhaustedError({ dimension: "cost", limit: 500_000, ...fields });
  expect(error.message).toBe(message);
});
