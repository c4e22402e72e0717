import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import {
  delegateEngine,
  delegateObject,
  delegatePrimitives,
  isJsonObject,
  Json,
  type Engine,
  type EngineProgram,
  type ObjectContext,
  type Operation,
  type ExecutionPrimitives,
  type StepIo,
} from "#kernel";

/** A line of a worker's trace of its executions. */
export type TraceLine =
  /** An execution was launched under this name. */
  | {
      readonly kind: "launched";
      readonly run: string;
      readonly continuation: number;
      readonly execution: string;
    }
  /** The `index`-th answer that an execution was given. */
  | {
      readonly kind: "picked";
      readonly run: string;
      readonly continuation: number;
      readonly epoch: string;
      readonly index: number;
      /** The how many-th operation it answers, and what that asked for. */
      readonly operation: string;
      /** A hash of the answer. */
      readonly answer: string;
      /** The kind of a step's record. */
      readonly record: string | null;
    };

/** The call in progress. */
interface CallMark {
  readonly run: string;
  step: string | null;
  attempt: string | null;
}

const marks = new AsyncLocalStorage<CallMark>();

/** Returns headers that identify the current model call, for the provider's bill. */
export function callHeaders(): Record<string, string> {
  const mark = marks.getStore();
  if (!mark) return {};
  return { "x-reeve-run": mark.run, "x-reeve-attempt": `${mark.step} ${mark.attempt}` };
}

/** Returns the attempt that has passed the gate for the current operation. Null: it passes none. */
export const currentAttempt = (): string | null => marks.getStore()?.attempt ?? null;

/** An engine that marks every call with its run, step and attempt, and traces the answers to executions. */
export function markedEngine(engine: Engine, trace: (line: TraceLine) => void): Engine {
  return delegateEngine(engine, {
    define: (program) => engine.define(markProgram(program, trace)),
  });
}

function markProgram(program: EngineProgram, trace: (line: TraceLine) => void): EngineProgram {
  const objects = program.objects.map((definition) => ({
    ...definition,
    methods: Object.fromEntries(
      Object.entries(definition.methods).map(([name, method]) => [
        name,
        (object: ObjectContext, argument: Json) => method(traceLaunches(object, trace), argument),
      ]),
    ),
  }));
  return { ...program, objects, run: (primitives) => program.run(markPrimitives(primitives, trace)) };
}

function traceLaunches(object: ObjectContext, trace: (line: TraceLine) => void): ObjectContext {
  return delegateObject(object, {
    launch: (launched) => {
      const execution = object.launch(launched);
      trace({ kind: "launched", run: launched.runId, continuation: launched.continuation, execution });
      return execution;
    },
  });
}

function markPrimitives(inner: ExecutionPrimitives, trace: (line: TraceLine) => void): ExecutionPrimitives {
  const { launch, epoch } = inner;
  const names = new Map<Operation, string>();
  let picks = 0;
  const named = (what: string, operation: Operation): Operation => {
    names.set(operation, `${names.size} ${what}`);
    return operation;
  };
  return delegatePrimitives(inner, {
    step: (name, run) =>
      named(
        `step ${name}`,
        inner.step(name, (io) => runInCall(launch.runId, io, run)),
      ),
    call: (to, method, argument) =>
      named(`call ${to.type}.${method} ${digest(argument)}`, inner.call(to, method, argument)),
    wake: (name) => named(`wake ${name}`, inner.wake(name)),
    // The time may be recomputed: the journal keeps the first.
    sleepUntil: (at) => named("sleep", inner.sleepUntil(at)),
    waitForCancel: () => named("cancelled", inner.waitForCancel()),
    race: async (open) => {
      const winner = await inner.race(open);
      const { runId: run, continuation } = launch;
      const answer = digest(Json.of(winner.outcome));
      const operation = names.get(winner) ?? "?";
      trace({
        kind: "picked",
        run,
        continuation,
        epoch: epoch.id,
        index: picks++,
        operation,
        answer,
        record: recordOf(winner),
      });
      return winner;
    },
  });
}

/** Runs a closure, and learns its attempt from its call of the gate. */
function runInCall(run: string, io: StepIo, closure: (io: StepIo) => Promise<Json>): Promise<Json> {
  const mark: CallMark = { run, step: null, attempt: null };
  const call: StepIo["call"] = (to, method, argument) => {
    if (method === "begin") {
      const { step, attempt } = Json.as<{ readonly step: string; readonly attempt: string }>(argument);
      Object.assign(mark, { step, attempt });
    }
    return io.call(to, method, argument);
  };
  const marking: StepIo = {
    signal: io.signal,
    attempt: io.attempt,
    call,
    get epoch() {
      return io.epoch;
    },
  };
  return marks.run(mark, () => closure(marking));
}

const digest = (value: Json): string => hash("sha256", JSON.stringify(value)).slice(0, 16);

function recordOf({ outcome }: Operation): string | null {
  const value = outcome?.ok ? outcome.value : null;
  if (!isJsonObject(value) || !("f" in value)) return null;
  for (const kind of ["interrupted", "retryAt"]) if (kind in value) return kind;
  return typeof value["kind"] === "string" ? value["kind"] : "result";
}
