import {
  encodeError,
  Json,
  ReplayDivergenceError,
  type Clock,
  type ObjectAddress,
  type Operation,
  type Outcome,
  type Primitives,
  type RunLaunch,
  type StepIo,
} from "#kernel";
import { copy } from "./copy.ts";

/** What a run needs of its engine. */
export interface RunHost {
  readonly clock: Clock;
  call(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  uuid(): string;
  /** Lets others go first. */
  readonly hop: () => Promise<void>;
}

/** One operation in the journal. It outlives the executions that ask for it. */
class Entry {
  readonly place: number;
  readonly label: string;
  outcome: Outcome | null = null;
  #controller: AbortController | null = null;
  #stopped: Error | null = null;

  constructor(place: number, label: string) {
    this.place = place;
    this.label = label;
  }

  /** Made when somebody wants it: most operations are never stopped, and few look whether they are. */
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

  constructor(entry: Entry) {
    this.entry = entry;
  }

  abort(reason: Error): void {
    this.entry.abort(reason);
  }
}

/** How far one execution has come. */
interface Progress {
  readonly execution: number;
  /** What it has asked for, by the place in the journal. */
  readonly operations: LocalOperation[];
  picked: number;
  diverged: ReplayDivergenceError | null;
}

/**
 * One run in this process: a journal in memory, and executions over it. With `fuzz` each execution is thrown away as
 * soon as something new has happened, and its successor starts from the beginning: code that cannot be replayed does
 * not get far.
 */
export class LocalRun {
  readonly #launch: RunLaunch;
  readonly #host: RunHost;
  readonly #fuzz: boolean;
  readonly #program: (primitives: Primitives) => Promise<void>;
  readonly #journal: Entry[] = [];
  /** Places in the journal, in the order in which they were picked. */
  readonly #picks: number[] = [];
  /** Places that have finished and were not picked yet, in that order. */
  readonly #finished: number[] = [];
  /** Told when something has finished. */
  #onNews: (() => void) | null = null;
  readonly #wakes = new Map<string, PromiseWithResolvers<void>>();
  readonly #cancelled = Promise.withResolvers<void>();
  #isClosed = false;
  /** Of the pause before a crashed execution is made again. */
  #pause: AbortController | null = null;
  #executions = 0;
  #failures = 0;

  constructor(
    launch: RunLaunch,
    host: RunHost,
    options: { readonly fuzz: boolean; readonly program: LocalRun["execute"] },
  ) {
    this.#launch = launch;
    this.#host = host;
    this.#fuzz = options.fuzz;
    this.#program = options.program;
  }

  wake(name: string): void {
    this.#wakeUp(name).resolve();
  }

  cancel(): void {
    this.#cancelled.resolve();
  }

  /** Drops the run where it stands. */
  close(): void {
    this.#isClosed = true;
    this.#pause?.abort(closed);
    for (const entry of this.#journal) if (!entry.outcome) entry.abort(closed);
  }

  /** Starts an execution over the journal as it is. */
  start(): void {
    this.#executions += 1;
    const execution = this.#executions;
    void this.execute(this.#primitives(execution)).catch((error: unknown) => this.#failed(execution, error));
  }

  execute(primitives: Primitives): Promise<void> {
    return this.#program(primitives);
  }

  /** Like any engine: what threw is executed again, a little later each time. */
  #failed(execution: number, error: unknown): void {
    if (execution !== this.#executions || this.#isClosed || error instanceof ReplayDivergenceError) return;
    this.#failures += 1;
    const delayMs = Math.min(10 * 2 ** this.#failures, 1_000);
    const { clock } = this.#host;
    this.#pause = new AbortController();
    clock.waitUntil(clock.now() + delayMs, this.#pause.signal).then(
      () => this.start(),
      () => undefined,
    );
  }

  #wakeUp(name: string): PromiseWithResolvers<void> {
    const known = this.#wakes.get(name) ?? Promise.withResolvers<void>();
    this.#wakes.set(name, known);
    return known;
  }

  #primitives(execution: number): Primitives {
    const { clock } = this.#host;
    const progress: Progress = { execution, operations: [], picked: 0, diverged: null };
    const ask = (label: string, run: (entry: Entry) => Promise<Json>): Operation =>
      this.#ask(progress, label, run);
    const isLive = (): boolean => progress.picked >= this.#picks.length;
    return {
      launch: this.#launch,
      epoch: `${String(clock.now()).padStart(15, "0")}-${String(execution).padStart(6, "0")}`,
      canPause: false,
      get isLive() {
        return isLive();
      },
      now: () => clock.now(),
      direct: (to, method, argument) => this.#host.call(to, method, argument),
      // What a closure returns is its own; what a call returns has been copied on its way.
      step: (name, run) => ask(`step ${name}`, async (entry) => copy(await run(this.#io(entry)))),
      call: (to, method, argument) => ask(`call ${method}`, () => this.#host.call(to, method, argument)),
      wake: (name) => ask(`wake ${name}`, () => this.#wakeUp(name).promise.then(() => null)),
      sleepUntil: (at) => ask("sleep", ({ signal }) => clock.waitUntil(at, signal).then(() => null)),
      cancelled: () => ask("cancelled", () => this.#cancelled.promise.then(() => null)),
      pick: (open) => this.#pick(open, progress),
      drain: this.#host.hop,
    };
  }

  #ask(progress: Progress, label: string, run: (entry: Entry) => Promise<Json>): Operation {
    // Code of an execution that was thrown away may still be woken by a promise of its own: nothing comes of it.
    if (progress.execution !== this.#executions) return new LocalOperation(new Entry(-1, label));
    const place = progress.operations.length;
    const known = this.#journal[place];
    if (known && known.label !== label)
      progress.diverged ??= new ReplayDivergenceError({ step: `${known.label}, now ${label}` });
    const operation = new LocalOperation(known ?? this.#begin(place, label, run));
    progress.operations.push(operation);
    return operation;
  }

  #io(entry: Entry): StepIo {
    return {
      get signal() {
        return entry.signal;
      },
      attempt: this.#host.uuid(),
      call: (to, method, argument) => this.#host.call(to, method, argument),
    };
  }

  /** Begins something new. */
  #begin(place: number, label: string, run: (entry: Entry) => Promise<Json>): Entry {
    const entry = new Entry(place, label);
    this.#journal[place] = entry;
    const finish = (outcome: Outcome): void => {
      entry.outcome = outcome;
      this.#finished.push(place);
      this.#onNews?.();
    };
    run(entry).then(
      (value) => finish({ ok: true, value }),
      (error: unknown) => finish({ ok: false, error: Json.as(copy(encodeError(error))) }),
    );
    return entry;
  }

  async #pick(open: readonly Operation[], progress: Progress): Promise<Operation> {
    if (progress.diverged) throw progress.diverged;
    const position = progress.picked++;
    const isNew = position >= this.#picks.length;
    const place = isNew ? await this.#nextFinished(open, progress) : (this.#picks[position] ?? -1);
    if (progress.execution !== this.#executions || this.#isClosed) return abandoned();
    if (isNew) this.#picks.push(place);
    const winner = progress.operations[place];
    if (!winner || !open.includes(winner))
      throw new ReplayDivergenceError({ step: this.#journal[place]?.label ?? "nothing" });
    if (isNew && this.#fuzz) {
      this.start();
      return abandoned();
    }
    winner.outcome = winner.entry.outcome;
    return winner;
  }

  async #nextFinished(open: readonly Operation[], { operations }: Progress): Promise<number> {
    const isOpen = (place: number): boolean => {
      const operation = operations[place];
      return operation !== undefined && open.includes(operation);
    };
    for (;;) {
      const index = this.#finished.findIndex(isOpen);
      if (index !== -1) return this.#finished.splice(index, 1)[0] ?? -1;
      await new Promise<void>((resolve) => (this.#onNews = resolve));
    }
  }
}

const closed = new Error("the engine was closed");

/** What an execution that was thrown away waits for. */
const abandoned = (): Promise<never> => new Promise(() => undefined);
