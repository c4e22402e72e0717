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
  /** An execution began or ended in a process. One that lost its process or its connection does not end. */
  | {
      readonly kind: "began" | "ended";
      readonly run: string;
      readonly continuation: number;
      readonly epoch: string;
      readonly pid: number;
      readonly at: number;
    }
  /** A process tried a method of a tree. It tries again after each value that it had to fetch. */
  | { readonly kind: "method"; readonly tree: string; readonly pid: number; readonly at: number }
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
  step: string;
  /** The attempt that passed the gate for it. Null: it passes none. */
  attempt: string | null;
  /** The execution that waits for it now. */
  readonly epoch: string;
}

const marks = new AsyncLocalStorage<CallMark>();

/** Returns headers that identify the current model call, for the provider's bill. */
export function callHeaders(): Record<string, string> {
  const mark = marks.getStore();
  if (!mark) return {};
  const { run, step, attempt, epoch } = mark;
  return { "x-reeve-run": run, "x-reeve-attempt": [step, attempt, epoch, process.pid].join(" ") };
}

/** Returns the step in progress, its execution, and the attempt that passed the gate for it. Null outside of steps. */
export function currentCall(): Pick<CallMark, "step" | "attempt" | "epoch"> | null {
  const mark = marks.getStore();
  return mark ? { step: mark.step, attempt: mark.attempt, epoch: mark.epoch } : null;
}

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
        (object: ObjectContext, argument: Json) => {
          if (definition.type === "tree") trace({ kind: "method", tree: treeOfKey(object.key), ...here() });
          return method(traceLaunches(object, trace), argument);
        },
      ]),
    ),
  }));
  return { ...program, objects, run: (primitives) => traceExecution(program, primitives, trace) };
}

/** The process and the time of a trace line. */
const here = (): { readonly pid: number; readonly at: number } => ({ pid: process.pid, at: Date.now() });

/** The key of a tree is its tenant and its id. */
const treeOfKey = (key: string): string => key.slice(key.indexOf("/") + 1);

async function traceExecution(
  program: EngineProgram,
  primitives: ExecutionPrimitives,
  trace: (line: TraceLine) => void,
): ReturnType<EngineProgram["run"]> {
  const { launch, epoch } = primitives;
  const execution = { run: launch.runId, continuation: launch.continuation, epoch: epoch.id };
  trace({ kind: "began", ...execution, ...here() });
  const returned = await program.run(markPrimitives(primitives, trace));
  trace({ kind: "ended", ...execution, ...here() });
  return returned;
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
        inner.step(name, (io) => runInCall(launch.runId, stepId(launch, name), io, run)),
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

/** The id of a step of a run, from its name in the journal: kind and number. */
export function stepId(
  { runId, continuation }: { readonly runId: string; readonly continuation: number },
  name: string,
): string {
  const [kind = "", number = ""] = name.split(":");
  return `${runId}:${continuation === 0 ? kind : `${kind}@${continuation}`}:${number}`;
}

/** Runs the closure of a step, and learns its attempt from its call of the gate. */
function runInCall(
  run: string,
  step: string,
  io: StepIo,
  closure: (io: StepIo) => Promise<Json>,
): Promise<Json> {
  const mark: CallMark = {
    run,
    step,
    attempt: null,
    get epoch() {
      return io.epoch.id;
    },
  };
  const call: StepIo["call"] = (to, method, argument) => {
    if (method === "begin") {
      const begun = Json.as<{ readonly step: string; readonly attempt: string }>(argument);
      mark.step = begun.step;
      mark.attempt = begun.attempt;
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
