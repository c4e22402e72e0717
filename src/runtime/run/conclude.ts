import {
  BudgetExhaustedError,
  CancellationError,
  encodeError,
  GuardrailHalt,
  Json,
  MiddlewareTermination,
  ModelError,
  NestedStepError,
  ReeveError,
  ReplayDivergenceError,
  TooManyStepsError,
  UnjournaledAwaitError,
  Usage,
  type Continuation,
  type Ended,
  type Primitives,
} from "#kernel";
import type { Driver, Ending } from "../driver/driver.ts";
import { stopReasonOf } from "../tree/life.ts";
import type { ReplyOf } from "../tree/protocol.ts";
import type { EndReport, InboxItem } from "../tree/records.ts";
import type { Guards } from "./guards.ts";
import type { InboxReader } from "./inbox-reader.ts";
import type { RunLabels } from "./run-labels.ts";

/** What agent code may return. */
export type Output = Json | Continuation | Ended | void;

/** How a run ended, as its tree sees it. */
type RunEnd = NonNullable<ReplyOf<"end">> & Pick<EndReport, "error">;

/** What an execution leaves behind when its code is over. */
export interface Finished {
  readonly driver: Driver;
  readonly inbox: InboxReader;
  readonly labels: RunLabels;
  readonly guards: Guards;
}

/** Says how the run ended. Null if it goes on elsewhere. @throws what the engine should execute again. */
export async function conclude(
  primitives: Primitives,
  { driver, inbox, labels, guards }: Finished,
  ending: Ending<Output>,
  cancelled: string | null,
): Promise<RunEnd | null> {
  if (ending.kind === "threw" && ending.error instanceof ReplayDivergenceError) throw ending.error;
  if (cancelled === null && ending.kind === "returned" && isMark<Continuation>(ending.value, "continue-as")) {
    const carried = { labels: labels.now, notes: guards.notes };
    await driver.finish("continue", { state: ending.value.state, unread: unreadOf(driver, inbox), carried });
    return null;
  }
  const isCrash = cancelled === null && ending.kind === "threw" && !isVerdict(ending.error);
  if (isCrash && (await crashed(primitives, "crash")).again) throw ending.error;
  const poison = isCrash ? inbox.inHand?.id : undefined;
  const unread = unreadOf(driver, inbox).filter((item) => "envelope" in item);
  const report = { ...endReport(ending, cancelled), ...(labels.told && { labels: labels.told }) };
  const end = { ...report, ...(poison && { poison }), unread };
  const totals = await driver.finish("end", { end });
  const { status, stopReason, error } = end;
  return { status, stopReason, usage: Usage.none, spend: 0, ...totals, ...(error && { error }) };
}

/** What a run has not read when it ends or goes on in a fresh execution: messages, signals, and what it was not told yet. */
function unreadOf({ waits, untold }: Driver, inbox: InboxReader): readonly InboxItem[] {
  const prefix = "signal/";
  const signals = waits.kept(prefix).map(({ key, value }): InboxItem => {
    return { kind: "signal", name: key.slice(prefix.length), data: value };
  });
  return [...inbox.unread, ...signals, ...untold];
}

/** Asks the tree what becomes of a run whose execution gave up. */
export async function crashed(primitives: Primitives, why: "crash" | "version"): Promise<ReplyOf<"crashed">> {
  const { launch, epoch } = primitives;
  const argument = { run: launch.runId, epoch, why, at: primitives.now() };
  return Json.as(await primitives.direct(launch.tree, "crashed", argument));
}

/** Ends a run whose code cannot say so any more. */
export async function endDirectly(primitives: Primitives, end: EndReport): Promise<void> {
  const { tree, runId: run, continuation } = primitives.launch;
  await primitives.direct(
    tree,
    "end",
    Json.of({ run, continuation, reports: [], at: primitives.now(), end }),
  );
}

/** The journal is not this code's: people look at the run where the engine can stop it, else it has failed. */
export async function endDiverged(primitives: Primitives, error: ReplayDivergenceError): Promise<void> {
  if (primitives.canPause) return;
  await endDirectly(primitives, {
    status: "failed",
    stopReason: "error",
    output: null,
    error: error.toJSON(),
  });
}

/** Errors that would come again, or were retried where they arose: the run is not started once more for them. */
function isVerdict(error: unknown): boolean {
  return (
    error instanceof BudgetExhaustedError ||
    error instanceof CancellationError ||
    error instanceof MiddlewareTermination ||
    error instanceof GuardrailHalt ||
    error instanceof ModelError ||
    error instanceof UnjournaledAwaitError ||
    error instanceof TooManyStepsError ||
    error instanceof NestedStepError
  );
}

function endReport(ending: Ending<Output>, cancelled: string | null): EndReport {
  const ended = ending.kind === "returned" && isMark<Ended>(ending.value, "ended") ? ending.value : null;
  if (ended && cancelled === null) {
    const { status, stopReason, output, error } = ended;
    return { status, stopReason, output, ...(error && { error }) };
  }
  const output = ending.kind === "returned" ? outputOf(ending.value) : null;
  if (cancelled !== null) return { status: "cancelled", stopReason: stopReasonOf(cancelled), output };
  if (ending.kind === "returned") return { status: "completed", stopReason: "answer", output };
  return { status: "failed", stopReason: failureOf(ending.error), output, error: encodeError(ending.error) };
}

/** What a run leaves behind, without the way it ended. */
export function outputOf(value: Output): Json {
  if (isMark<Ended>(value, "ended")) return value.output;
  return isMark<Continuation>(value, "continue-as") ? null : Json.of(value ?? null);
}

function failureOf(error: unknown): EndReport["stopReason"] {
  if (error instanceof BudgetExhaustedError) return `budget.${error.dimension}`;
  if (error instanceof MiddlewareTermination) return "terminated";
  if (error instanceof GuardrailHalt) return "guardrail";
  return ReeveError.is(error) && error.code === "dead-letter" ? "dead-letter" : "error";
}

/** Is this one of the two values that say how to end, rather than an output? */
export function isMark<Mark extends Continuation | Ended>(value: Output, kind: Mark["kind"]): value is Mark {
  return typeof value === "object" && value !== null && "kind" in value && value["kind"] === kind;
}
