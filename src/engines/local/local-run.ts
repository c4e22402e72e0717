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
import { copy, macrotask } from "./local-objects.ts";

/** What a run needs of its engine. */
export interface RunHost {
  readonly clock: Clock;
  call(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  uuid(): string;
}

/** One operation in the journal. It outlives the executions that ask for it. */
interface Entry {
  readonly place: number;
  readonly label: string;
  outcome: Outcome | null;
  readonly controller: AbortController;
}

const entryOf = (place: number, label: string): Entry => {
  return { place, label, outcome: null, controller: new AbortController() };
};

class LocalOperation implements Operation {
  readonly entry: Entry;
  outcome: Outcome | null = null;

  constructor(entry: Entry) {
    this.entry = entry;
  }

  abort(reason: Error): void {
    this.entry.controller.abort(reason);
  }
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
  #finished: number[] = [];
  #news = Promise.withResolvers<void>();
  readonly #wakes = new Map<string, PromiseWithResolvers<void>>();
  readonly #cancelled = Promise.withResolvers<void>();
  readonly #closed = new AbortController();
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
    this.#closed.abort(new Error("the engine was closed"));
    for (const { controller } of this.#journal) controller.abort(this.#closed.signal.reason);
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
    if (
      execution !== this.#executions ||
      this.#closed.signal.aborted ||
      error instanceof ReplayDivergenceError
    )
      return;
    this.#failures += 1;
    const delayMs = Math.min(10 * 2 ** this.#failures, 1_000);
    const { clock } = this.#host;
    clock.waitUntil(clock.now() + delayMs, this.#closed.signal).then(
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
    const asked = { count: 0, picked: 0, diverged: null as ReplayDivergenceError | null };
    const isLive = (): boolean => asked.picked >= this.#picks.length;
    const ask = (label: string, run: (entry: Entry) => Promise<Json>): Operation => {
      // Code of an execution that was thrown away may still be woken by a promise of its own: nothing comes of it.
      if (execution !== this.#executions) return new LocalOperation(entryOf(-1, label));
      const place = asked.count++;
      const known = this.#journal[place];
      if (known && known.label !== label)
        asked.diverged ??= new ReplayDivergenceError({ step: `${known.label}, now ${label}` });
      return new LocalOperation(known ?? this.#begin(place, label, run));
    };
    return {
      launch: this.#launch,
      epoch: `${String(clock.now()).padStart(15, "0")}-${String(execution).padStart(6, "0")}`,
      canPause: false,
      get isLive() {
        return isLive();
      },
      now: () => clock.now(),
      direct: (to, method, argument) => this.#host.call(to, method, argument),
      step: (name, run) => ask(`step ${name}`, ({ controller }) => run(this.#io(controller.signal))),
      call: (to, method, argument) => ask(`call ${method}`, () => this.#host.call(to, method, argument)),
      wake: (name) => ask(`wake ${name}`, () => this.#wakeUp(name).promise.then(() => null)),
      sleepUntil: (at) =>
        ask("sleep", ({ controller }) => clock.waitUntil(at, controller.signal).then(() => null)),
      cancelled: () => ask("cancelled", () => this.#cancelled.promise.then(() => null)),
      pick: (open) => this.#pick(open, asked, execution),
      drain: macrotask,
    };
  }

  #io(signal: AbortSignal): StepIo {
    return {
      signal,
      attempt: this.#host.uuid(),
      call: (to, method, argument) => this.#host.call(to, method, argument),
    };
  }

  /** Begins something new. Its result goes through the serde of a wire, errors included. */
  #begin(place: number, label: string, run: (entry: Entry) => Promise<Json>): Entry {
    const entry = entryOf(place, label);
    this.#journal[place] = entry;
    const finish = (outcome: Outcome): void => {
      entry.outcome = Json.as(copy(Json.of(outcome)));
      this.#finished.push(place);
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    };
    run(entry).then(
      (value) => finish({ ok: true, value }),
      (error: unknown) => finish({ ok: false, error: encodeError(error) }),
    );
    return entry;
  }

  async #pick(
    open: readonly Operation[],
    asked: { picked: number; readonly diverged: ReplayDivergenceError | null },
    execution: number,
  ): Promise<Operation> {
    if (asked.diverged) throw asked.diverged;
    const byPlace = new Map(open.map((operation) => [(operation as LocalOperation).entry.place, operation]));
    const position = asked.picked++;
    const isNew = position >= this.#picks.length;
    const place = isNew ? await this.#nextFinished(byPlace) : (this.#picks[position] ?? -1);
    if (execution !== this.#executions || this.#closed.signal.aborted) return abandoned();
    if (isNew) this.#picks.push(place);
    const winner = byPlace.get(place);
    if (!winner) throw new ReplayDivergenceError({ step: this.#journal[place]?.label ?? "nothing" });
    if (isNew && this.#fuzz) {
      this.start();
      return abandoned();
    }
    (winner as LocalOperation).outcome = (winner as LocalOperation).entry.outcome;
    return winner;
  }

  async #nextFinished(open: ReadonlyMap<number, Operation>): Promise<number> {
    for (;;) {
      const place = this.#finished.find((candidate) => open.has(candidate));
      if (place !== undefined) {
        this.#finished = this.#finished.filter((candidate) => candidate !== place);
        return place;
      }
      await this.#news.promise;
    }
  }
}

/** What an execution that was thrown away waits for. */
const abandoned = (): Promise<never> => new Promise(() => undefined);
