import {
  StoredValueError,
  AgentId,
  toStopReason,
  BudgetExhaustedError,
  CancellationError,
  Continuation,
  decodeError,
  encodeError,
  Ended,
  findJsonProblem,
  GuardrailHalt,
  Json,
  MiddlewareTermination,
  ModelError,
  NestedStepError,
  ProgramError,
  ReplayDivergenceError,
  TooLargeError,
  TooManyStepsError,
  TurnLostError,
  UnencodableError,
  UnjournaledAwaitError,
  type Diagnostic,
  type ExecutionPrimitives,
} from "#kernel";
import { failedLayer } from "#agents";
import { withTimeout } from "#base";
import {
  withProtocol,
  type EndReport,
  type FinalResult,
  type InboxItem,
  type ReplyOf,
  type SentContent,
  type Task,
} from "#tree";
import type { Children } from "./children.ts";
import type { Driver, RunEnding } from "./driver/driver.ts";
import { closeEphemeral } from "./ephemeral.ts";
import { recordedDiagnostic } from "./failures.ts";
import type { GuardrailRunner } from "./guardrails.ts";
import type { InboxReader } from "./messaging.ts";
import type { RunServices } from "./run-services.ts";

/** A value that agent code may return. */
export type Output = Json | Continuation | Ended | void;

/** The parts of an execution whose state outlives its code. */
export interface FinishedRun {
  readonly services: RunServices;
  readonly inbox: InboxReader;
  readonly children: Children;
}

/** The end of a run's code, and the reason of its cancel. Null if the run was not cancelled. */
interface Exit {
  readonly ending: RunEnding<Output>;
  readonly cancelled: string | null;
}

/**
 * Reports the end of the run, or its continuation. Returns the result of its tree, if that has ended with it. @throws
 * the error after which the engine executes the run again.
 */
export async function conclude(
  primitives: ExecutionPrimitives,
  finished: FinishedRun,
  { ending, cancelled }: Exit,
): Promise<FinalResult | null> {
  const { services, inbox, children } = finished;
  const { engine, policy, state } = services;
  const { driver } = engine;
  const { guardrails } = policy;
  const { labels } = state;
  if (ending.kind === "threw" && ending.error instanceof ReplayDivergenceError) throw ending.error;
  await state.steps.writeNoted();
  if (cancelled === null && ending.kind === "returned" && Continuation.is(ending.value)) {
    const problem = findJsonProblem(ending.value.state);
    if (problem !== null)
      return conclude(primitives, finished, {
        ending: unencodable("the state for continueAs", problem),
        cancelled,
      });
    const { tasks } = children;
    const { notes } = guardrails;
    const turn = state.session.carried;
    const { open: subscriptions, unread: heard } = state.subscriptions;
    const carried = {
      labels: labels.now,
      notes,
      tasks,
      reported: state.sizes.carried,
      turn,
      ...(subscriptions.length > 0 && { subscriptions }),
    };
    const unread = [...heard, ...unreadOf(driver, inbox), ...repliesTo(tasks, driver)];
    const refused = await catchTooLarge(
      driver.finish("continue", { state: ending.value.state, unread, carried }),
    );
    if (refused)
      return conclude(primitives, finished, { ending: { kind: "threw", error: refused }, cancelled });
    return null;
  }
  const isCrash = cancelled === null && ending.kind === "threw" && !isVerdict(ending.error);
  if (isCrash && (await reportCrash(primitives, "crash", diagnosticOf(services, ending.error))).again)
    throw ending.error;
  const report = { ...endReport(ending, cancelled), ...(labels.told && { labels: labels.told }) };
  reportTrip(driver, guardrails, report);
  reportSettled(services, report);
  const poison = isCrash ? inbox.currentMessage?.id : undefined;
  const unread = unreadOf(driver, inbox).filter((item) => "envelope" in item);
  await flushLast(services, cancelled);
  const end = { ...report, ...turnOf(services), ...(poison && { poison }), unread };
  const final = await driver.finish("end", { end }).catch((refused) => endTooLarge(driver, refused));
  closeEphemeral(services);
  return final;
}

/**
 * Reports the guardrail that has ended a run, unless its trip is reported already, as by the loop detection of
 * `agent()`.
 */
function reportTrip(
  { outbox, time }: Driver,
  guardrails: GuardrailRunner,
  { stopReason, error }: EndReport,
): void {
  const halt = stopReason === "guardrail" && error ? decodeError(error) : null;
  if (!(halt instanceof GuardrailHalt) || guardrails.hasReported(halt.reason)) return;
  const { guardrail, reason } = halt;
  outbox.event("guardrail.trip", time, null, { guardrail, reason, decision: "halt" });
}

/** Reports that a conversation has all messages of the turn, and that none of them waits for an answer. */
function reportSettled({ engine, state: { session } }: RunServices, { status }: EndReport): void {
  const { outbox, time } = engine.driver;
  const isDone = session.hasSaved || session.order !== undefined;
  if (isDone && !session.isOpen && (status === "completed" || status === "landed"))
    outbox.event("session.settled", time, null, { leaf: session.leaf });
}

/** Time for the store to take the last messages of an unsaved turn. */
const flushMs = 300;

/** Writes the last messages of a turn that stays without an answer. A repeated call writes nothing more. */
async function flushLast({ engine, state }: RunServices, cancelled: string | null): Promise<void> {
  const { session } = state;
  if (!session.isOpen || (cancelled === null && !session.hasActed)) return;
  const limit = { clock: engine.clock, ms: flushMs, onTimeout: () => undefined };
  await withTimeout<void>(limit, () => session.flush()).catch(() => undefined);
}

/** Returns whether the conversation has all messages, and whether a tool had side effects. */
function turnOf({ state: { session } }: RunServices): Pick<EndReport, "isSaved" | "hasActed"> {
  const isSaved = session.isKept && !session.isOpen;
  return { ...(isSaved && { isSaved }), ...(session.hasActed && { hasActed: true }) };
}

/** Waits for a call that may be refused because of its size. Returns the refusal. Null if it was accepted. */
async function catchTooLarge(call: Promise<unknown>): Promise<TooLargeError | null> {
  try {
    await call;
    return null;
  } catch (error) {
    if (error instanceof TooLargeError) return error;
    throw error;
  }
}

/** Ends a run whose report is refused because of its size. @throws any other error. */
function endTooLarge(driver: Driver, refused: unknown): Promise<ReplyOf<"end">> {
  if (!(refused instanceof TooLargeError)) throw refused;
  const end = { status: "failed", stopReason: "error", output: null, error: refused.toJSON() } as const;
  return driver.finish("end", { end });
}

/**
 * Returns the unread items of a run that ends or continues in a fresh execution: messages, signals, and undelivered
 * items.
 */
function unreadOf({ waits, undelivered }: Driver, inbox: InboxReader): readonly InboxItem[] {
  const prefix = "signal/";
  const signals = waits.listKept(prefix).map(({ key, value }): InboxItem => {
    return { kind: "signal", name: key.slice(prefix.length), data: value };
  });
  return [...inbox.unread, ...signals, ...undelivered];
}

/** Returns the replies to tasks that the run has not asked for yet: it may ask in its next execution. */
function repliesTo(tasks: readonly Task[], { waits }: Driver): readonly InboxItem[] {
  return tasks.flatMap(({ message }) =>
    waits.listKept(`reply/${message}`).map(({ value }): InboxItem => {
      const { text, data } = Json.as<SentContent>(value);
      return { kind: "reply", ask: message, text, data };
    }),
  );
}

/**
 * Returns the diagnostic of an error of a run's code: the recorded one, if a step reported it. Otherwise reports it
 * now.
 */
function diagnosticOf({ engine, identity }: RunServices, error: unknown): Diagnostic {
  const source = failedLayer(error) ?? `agent ${AgentId.type(identity.agentId)}`;
  return recordedDiagnostic(error) ?? engine.report(source, error);
}

/**
 * Asks the tree about a run whose execution gave up. The call is not journaled: the stack of an error depends on the
 * build, and a replay must not.
 */
export async function reportCrash(
  primitives: ExecutionPrimitives,
  why: "crash" | "version",
  diagnostic?: Diagnostic,
): Promise<ReplyOf<"crashed">> {
  const { launch, epoch } = primitives;
  const argument = { run: launch.runId, epoch: epoch.id, why, diagnostic, at: primitives.now() };
  return Json.as(await primitives.callUnjournaled(launch.tree, "crashed", withProtocol(argument, launch)));
}

/** Ends a run whose code can no longer report it. */
export async function endDirectly(primitives: ExecutionPrimitives, end: EndReport): Promise<void> {
  const { launch } = primitives;
  const { tree, runId: run, continuation } = launch;
  await primitives.callUnjournaled(
    tree,
    "end",
    withProtocol({ run, continuation, reports: [], at: primitives.now(), end }, launch),
  );
}

/**
 * Ends a run whose journal does not match this code. If the engine can stop it, it waits for inspection; else it fails.
 */
export async function endDiverged(
  primitives: ExecutionPrimitives,
  error: ReplayDivergenceError,
): Promise<void> {
  if (primitives.canPause) return;
  await endDirectly(primitives, {
    status: "failed",
    stopReason: "error",
    output: null,
    error: error.toJSON(),
  });
}

/** Fails a run whose launch was changed. Nothing of the launch is used. */
export async function endChanged(primitives: ExecutionPrimitives, problem: string): Promise<null> {
  const error = new StoredValueError({ what: "the launch of a run", problem }).toJSON();
  await endDirectly(primitives, { status: "failed", stopReason: "error", output: null, error });
  return null;
}

/** Whether an error would occur again, or was already retried. The run is then not restarted. */
function isVerdict(error: unknown): boolean {
  return (
    error instanceof BudgetExhaustedError ||
    error instanceof CancellationError ||
    error instanceof MiddlewareTermination ||
    error instanceof GuardrailHalt ||
    error instanceof ModelError ||
    error instanceof ProgramError ||
    error instanceof UnjournaledAwaitError ||
    error instanceof TooManyStepsError ||
    error instanceof NestedStepError ||
    error instanceof UnencodableError ||
    error instanceof TooLargeError ||
    error instanceof TurnLostError
  );
}

/** Returns the ending of code whose value JSON cannot hold. */
function unencodable(what: string, problem: string): RunEnding<Output> {
  return { kind: "threw", error: new UnencodableError({ what, problem: `it${problem}` }) };
}

function endReport(ended: RunEnding<Output>, cancelled: string | null): EndReport {
  const problem = ended.kind === "returned" ? findJsonProblem(outputOf(ended.value)) : null;
  return reportOf(problem === null ? ended : unencodable("the output", problem), cancelled);
}

function reportOf(ending: RunEnding<Output>, cancelled: string | null): EndReport {
  const ended = ending.kind === "returned" && Ended.is(ending.value) ? ending.value : null;
  if (ended && cancelled === null) {
    const { status, stopReason, output, error } = ended;
    return { status, stopReason, output, ...(error && { error }) };
  }
  const output = ending.kind === "returned" ? outputOf(ending.value) : null;
  if (cancelled !== null) return { status: "cancelled", stopReason: toStopReason(cancelled), output };
  if (ending.kind === "returned") return { status: "completed", stopReason: "answer", output };
  return { status: "failed", stopReason: failureOf(ending.error), output, error: encodeError(ending.error) };
}

/** Returns a run's output, without its kind of end. */
export function outputOf(value: Output): Json {
  if (Ended.is(value)) return value.output;
  return Continuation.is(value) ? null : Json.of(value ?? null);
}

function failureOf(error: unknown): EndReport["stopReason"] {
  if (error instanceof BudgetExhaustedError) return `budget.${error.dimension}`;
  if (error instanceof MiddlewareTermination) return "terminated";
  return error instanceof GuardrailHalt ? "guardrail" : "error";
}
