// One run on the local engine.
//
// Job: keep a journal in memory, execute the program over it, and repeat an execution that threw. Neighbours: local.ts
// creates runs and passes wake-ups and cancels; local-objects answers calls; the driver above uses only the primitives.
//
// Invariants:
// 1. An operation is identified by its position in the journal. A replay that requests another operation there
//    diverges.
// 2. An operation begins once and outlives executions. Later executions get its outcome from the journal.
// 3. The order of picks is recorded, and a replay gets the same picks in the same order.
// 4. Only the newest execution may change the journal. Code of a discarded one has no effect.
// 5. Arguments and replies of calls are copied, so a run and an object never share data.

import {
  CancellationError,
  encodeError,
  Json,
  ReplayDivergenceError,
  SupersededError,
  type Clock,
  type Epoch,
  type OpenOperations,
  type Operation,
  type Outcome,
  type ExecutionPrimitives,
  type RunLaunch,
  type StepIo,
} from "#kernel";
import { backoffMs, copyJson } from "#base";
import type { Schedule } from "./schedule.ts";
import type { LocalObjects, ObjectCall } from "./local-objects.ts";

/** The dependencies of a run. */
export interface RunDeps {
  readonly clock: Clock;
  readonly objects: LocalObjects;
  /** Returns an id for an execution of a closure. */
  attempt(): string;
  /** Returns an epoch that is higher than all before, so a continuation is later than the execution it continues. */
  epoch(): Epoch;
  /** Defers a callback. */
  readonly schedule: Schedule;
  /** Defers a callback before a call of the run itself. */
  readonly scheduleCall: Schedule;
}

/** Begins an operation, and calls `finish` when it has ended. */
type Begin = (entry: Entry, finish: (outcome: Outcome) => void) => void;

/** One operation in the journal. It outlives the executions that request it. */
class Entry {
  readonly label: string;
  /** The argument of a call. Null if arguments are not compared. */
  readonly argument: string | null;
  outcome: Outcome | null = null;
  /** Whether an execution has been given the outcome. */
  isGiven = false;
  #controller: AbortController | null = null;
  #stopped: Error | null = null;

  constructor(label: string, argument: string | null = null) {
    this.label = label;
    this.argument = argument;
  }

  /** Created on demand: most operations are never stopped, and few closures check. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stopped && !this.#controller.signal.aborted) this.#controller.abort(this.#stopped);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#stopped ??= reason;
    this.#controller?.abort(reason);
  }
}

class LocalOperation implements Operation {
  readonly entry: Entry;
  outcome: Outcome | null = null;
  isFirst = false;

  constructor(entry: Entry) {
    this.entry = entry;
  }

  cancel(reason: Error): void {
    this.entry.abort(reason);
  }
}

/** The progress of one execution. */
interface Progress {
  readonly execution: number;
  /** Its operations, by the position in the journal. */
  readonly operations: LocalOperation[];
  picked: number;
  diverged: ReplayDivergenceError | null;
}

/**
 * One run in this process: a journal in memory, and executions over it. With `replayEveryStep`, each execution is discarded as
 * soon as something new has happened, and the next one starts from the beginning. So code that cannot be replayed fails
 * early.
 */
export class LocalRun {
  readonly #launch: RunLaunch;
  readonly #host: RunDeps;
  readonly #replayEveryStep: boolean;
  readonly #program: (primitives: ExecutionPrimitives) => Promise<void>;
  readonly #journal: Entry[] = [];
  /** Positions in the journal, in the order in which they were picked. */
  readonly #picks: number[] = [];
  /** Positions that have finished and were not picked yet, in order. */
  readonly #finished: number[] = [];
  /** Callbacks of callers that wait for the end of the execution. */
  readonly #waiting: ((returned: Json) => void)[] = [];
  /** Called when an operation has finished. */
  #onNews: (() => void) | null = null;
  /** Wake-ups by name: the waiting callback, or the outcome if it was resolved before. */
  readonly #wakes = new Map<string, ((outcome: Outcome) => void) | Outcome>();
  #isClosed = false;
  /** Aborts the pause before a crashed execution is repeated. */
  #pause: AbortController | null = null;
  #executions = 0;
  #failures = 0;
  /** The epoch of the newest execution: closures outlive the executions that began them. */
  #epoch: Epoch;

  constructor(
    launch: RunLaunch,
    host: RunDeps,
    options: { readonly replayEveryStep: boolean; readonly program: LocalRun["execute"] },
  ) {
    this.#launch = launch;
    this.#host = host;
    this.#replayEveryStep = options.replayEveryStep;
    this.#program = options.program;
    this.#epoch = host.epoch();
  }

  wake(name: string, value: Json = null): void {
    const known = this.#wakes.get(name);
    // The first one counts.
    if (known && typeof known !== "function") return;
    const outcome: Outcome = { ok: true, value };
    this.#wakes.set(name, outcome);
    known?.(outcome);
  }

  cancel(): void {
    this.wake(cancellation);
  }

  /** Returns the value of the execution. Null if it was dropped. @throws the signal's reason. */
  waitForEnd(signal: AbortSignal): Promise<Json> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      this.#waiting.push((returned) => {
        signal.removeEventListener("abort", stop);
        resolve(returned);
      });
    });
  }

  /** Drops the run. Waiting callers get the value of the execution. */
  close(returned: Json = null): void {
    this.#isClosed = true;
    this.#answerWaiting(returned);
    this.#pause?.abort(closed);
    for (const entry of this.#journal) if (!entry.outcome) entry.abort(closed);
  }

  #answerWaiting(returned: Json): void {
    // Each caller may change its value. The last one gets the original, which has no other owner.
    for (let tell = this.#waiting.pop(); tell; tell = this.#waiting.pop())
      tell(this.#waiting.length > 0 ? copyJson(returned) : returned);
  }

  /** Starts an execution over the present journal. */
  start(): void {
    this.#executions += 1;
    this.#epoch = this.#host.epoch();
    const execution = this.#executions;
    void this.execute(this.#primitives(execution)).catch((error: unknown) =>
      this.#retryLater(execution, error),
    );
  }

  execute(primitives: ExecutionPrimitives): Promise<void> {
    return this.#program(primitives);
  }

  /** Repeats an execution that threw, with growing delays, as any engine does. */
  #retryLater(execution: number, error: unknown): void {
    if (execution !== this.#executions || this.#isClosed) return;
    // The execution cannot continue, but its tree may have ended the run already: waiting callers ask the tree.
    if (error instanceof ReplayDivergenceError) return this.#answerWaiting(null);
    this.#failures += 1;
    const delayMs = backoffMs(this.#failures, restart);
    const { clock } = this.#host;
    this.#pause = new AbortController();
    clock.waitUntil(clock.now() + delayMs, this.#pause.signal).then(
      () => this.start(),
      () => undefined,
    );
  }

  #awaitWake(name: string): Begin {
    return (_, finish) => {
      const known = this.#wakes.get(name);
      if (known && typeof known !== "function") finish(known);
      else this.#wakes.set(name, finish);
    };
  }

  #primitives(execution: number): ExecutionPrimitives {
    const { clock, objects, schedule, scheduleCall } = this.#host;
    const progress: Progress = { execution, operations: [], picked: 0, diverged: null };
    const ask = (label: string, begin: Begin, argument: string | null = null): Operation =>
      this.#ask(progress, { label, argument }, begin);
    const isLive = (): boolean => progress.picked >= this.#picks.length;
    return {
      // Each execution has its own copy, so that changes are not visible to the next one.
      launch: { ...this.#launch, input: copyJson(this.#launch.input) },
      epoch: this.#epoch,
      keepsReferences: true,
      canPause: false,
      get isLive() {
        return isLive();
      },
      now: () => clock.now(),
      callUnjournaled: (to, method, argument) => this.#call({ to, method, argument }),
      // A closure's value belongs to the closure. A call's reply was copied on its way.
      step: (name, run) =>
        ask(`step ${name}`, (entry, finish) => {
          // A run that was cancelled before this point does nothing more.
          if (typeof this.#wakes.get(cancellation) === "object") return finish(failure(stopped));
          const attempt = (): Promise<void> =>
            run(this.#io(entry)).then(
              (value) => finish(success(value)),
              (error: unknown) => {
                if (!(error instanceof SupersededError)) return finish(failure(error));
                this.#epoch = this.#host.epoch();
                return attempt();
              },
            );
          void attempt();
        }),
      call: (to, method, argument) => {
        // Copied before it is requested, so that an uncopyable argument is not in the journal.
        const call = { to, method, argument: copyJson(argument) };
        return ask(
          `call ${method}`,
          (_, finish) =>
            objects.callCopied(
              call,
              (value) => finish({ ok: true, value }),
              (error) => finish(failure(error)),
              scheduleCall,
            ),
          // Durable engines compare arguments, too.
          this.#replayEveryStep ? JSON.stringify(argument) : null,
        );
      },
      wake: (name) => ask(`wake ${name}`, this.#awaitWake(name)),
      sleepUntil: (at) =>
        ask("sleep", ({ signal }, finish) => {
          clock.waitUntil(at, signal).then(
            () => finish(nothing),
            (error: unknown) => finish(failure(error)),
          );
        }),
      waitForCancel: () => ask("cancelled", this.#awaitWake(cancellation)),
      race: (open) => this.#race(open, progress),
      flushMicrotasks: () => new Promise(schedule),
    };
  }

  #ask(progress: Progress, { label, argument }: Pick<Entry, "label" | "argument">, begin: Begin): Operation {
    // Code of a discarded execution may still be woken by a promise of its own. It has no effect.
    if (progress.execution !== this.#executions) return new LocalOperation(new Entry(label));
    const place = progress.operations.length;
    const known = this.#journal[place];
    if (known && known.label !== label)
      progress.diverged ??= new ReplayDivergenceError({ step: `${known.label}, now ${label}` });
    else if (known && known.argument !== argument)
      progress.diverged ??= new ReplayDivergenceError({ step: `${label} with another argument` });
    const operation = new LocalOperation(known ?? this.#begin(place, new Entry(label, argument), begin));
    progress.operations.push(operation);
    return operation;
  }

  #io(entry: Entry): StepIo {
    const epochNow = (): Epoch => this.#epoch;
    return {
      get signal() {
        return entry.signal;
      },
      get epoch() {
        return epochNow();
      },
      attempt: this.#host.attempt(),
      call: (to, method, argument) => this.#call({ to, method, argument }),
    };
  }

  #call(call: ObjectCall): Promise<Json> {
    const { objects, scheduleCall } = this.#host;
    return new Promise((resolve, reject) => objects.call(call, resolve, reject, scheduleCall));
  }

  /** Begins a new operation. */
  #begin(place: number, entry: Entry, begin: Begin): Entry {
    this.#journal[place] = entry;
    begin(entry, (outcome) => {
      entry.outcome = outcome;
      this.#finished.push(place);
      this.#onNews?.();
    });
    return entry;
  }

  async #race(open: OpenOperations, progress: Progress): Promise<Operation> {
    if (progress.diverged) throw progress.diverged;
    const position = progress.picked++;
    const isNew = position >= this.#picks.length;
    let place = isNew ? this.#takeFinished(open, progress) : (this.#picks[position] ?? none);
    while (place === none && progress.execution === this.#executions) {
      await new Promise<void>((resolve) => (this.#onNews = resolve));
      place = this.#takeFinished(open, progress);
    }
    if (progress.execution !== this.#executions || this.#isClosed) return waitForever();
    if (isNew) this.#picks.push(place);
    const winner = progress.operations[place];
    if (!winner || !open.has(winner))
      throw new ReplayDivergenceError({ step: this.#journal[place]?.label ?? "nothing" });
    if (isNew && this.#replayEveryStep) {
      this.start();
      return waitForever();
    }
    winner.outcome = winner.entry.outcome;
    winner.isFirst = !winner.entry.isGiven;
    winner.entry.isGiven = true;
    return winner;
  }

  /** Returns the position of the operation that finished first. Only the live execution may take it. */
  #takeFinished(open: OpenOperations, { operations, execution }: Progress): number {
    if (execution !== this.#executions) return none;
    const finished = this.#finished;
    for (let index = 0; index < finished.length; index++) {
      const place = finished[index] ?? none;
      const operation = operations[place];
      if (operation === undefined || !open.has(operation)) continue;
      if (index === 0) finished.shift();
      else finished.splice(index, 1);
      return place;
    }
    return none;
  }
}

/** Delays before a failed execution is repeated. */
const restart = { firstMs: 10, maxMs: 1_000 };

/** Marks the absence of a position in the journal. */
const none = -1;
const closed = new Error("the engine was closed");
const stopped = new CancellationError({ reason: "cancelled" });
const nothing: Outcome = { ok: true, value: null };
/** The name of the cancellation wake-up. Runs never use it: their names contain a position in the inbox. */
const cancellation = "cancel";

/** Returns the outcome of a closure: its value, or the error if the value cannot be stored. */
function success(value: Json): Outcome {
  try {
    return { ok: true, value: copyJson(value) };
  } catch (error) {
    return failure(error);
  }
}

const failure = (error: unknown): Outcome => ({ ok: false, error: Json.as(copyJson(encodeError(error))) });

/** Returns the promise that a discarded execution waits for. */
const waitForever = (): Promise<never> => new Promise(() => undefined);
