import { AsyncLocalStorage } from "node:async_hooks";
import {
  delegatePrimitives,
  type EngineProgram,
  type Json,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectMethod,
  type Operation,
  type ExecutionPrimitives,
  type SinkDefinition,
  type StepIo,
} from "#kernel";
import { storedForm } from "../stored-form.ts";
import { Try } from "./try.ts";

/** Thrown at a simulated crash. Code that catches it makes no progress: its next operation never returns. */
export class Crash extends Error {
  constructor() {
    super("crash");
  }
}

/** Something that a crash ends: an execution of a run, a try of an object's method, a delivery. */
class Life {
  /** Whether the engine has given it up. */
  isOver = false;
  /** Whether its closures continue nevertheless, as those of a stalled worker do. */
  #isStalled = false;
  #end: () => void = () => undefined;

  /** Whether nothing of it continues. */
  get isDead(): boolean {
    return this.isOver && !this.#isStalled;
  }

  end(): void {
    this.isOver = true;
    this.#isStalled = false;
    this.#end();
  }

  /** The engine abandons it and begins another execution. Its closures do not notice. */
  stall(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#isStalled = true;
    this.#end();
  }

  /** Resolves with the work, or never if this execution dies. */
  rejectOnDeath<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#end = () => reject(new Crash());
      work.then(resolve, reject);
      if (this.isOver) this.#end();
    });
  }

  /** @throws Crash if it is over. */
  check(): void {
    if (this.isOver) throw new Crash();
  }

  /** Resolves with the promise, unless this execution is dead. */
  survive<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.isDead || resolve(value),
        (error: unknown) => this.isDead || reject(error),
      );
    });
  }
}

/** One execution of a step's closure. */
export interface Attempt {
  /** The execution of its run, and its name there. */
  readonly step: string;
  readonly id: string;
  readonly life: { readonly isOver: boolean };
}

/** A started step. Its closure dies with the execution that started it, and is run again by the next. */
interface BegunStep {
  life: Life;
  stop: AbortController;
  hasEnded: boolean;
  readonly journal: PromiseWithResolvers<Json>;
}

/**
 * Crashes executions, methods and deliveries on a single-process engine at any point, as a crash of their process
 * would. Journaled, committed and delivered work remains; the rest is repeated from the journal.
 */
export class CrashingEngine {
  readonly #lives = new AsyncLocalStorage<Life>();
  readonly #attempts = new AsyncLocalStorage<Attempt>();
  readonly #executions = new Set<Life>();
  /** By execution: what it has begun. */
  readonly #steps = new Map<string, BegunStep[]>();
  readonly #uuid: () => string;
  /** Told what was journaled. */
  onJournaled: (step: string, value: Json) => void = () => undefined;

  constructor(options: { readonly uuid: () => string }) {
    this.#uuid = options.uuid;
  }

  /** Crashes the calling work. @throws Crash */
  die(): never {
    this.#lives.getStore()?.end();
    throw new Crash();
  }

  /** Makes the engine abandon the calling execution, if there is one. Its closures continue. */
  stall(): void {
    const life = this.#lives.getStore();
    if (life && this.#executions.has(life)) life.stall();
  }

  /** Ends every execution there is, as the end of the whole process would. */
  dieAll(): void {
    for (const life of this.#executions) life.end();
  }

  /** The attempt that this is called in, if it is one. */
  get attempt(): Attempt | undefined {
    return this.#attempts.getStore();
  }

  /** Resolves with the promise, unless the waiting execution dies first. */
  survive<T>(promise: Promise<T>): Promise<T> {
    const life = this.#lives.getStore();
    return life ? life.survive(promise) : promise;
  }

  /** The same program, mortal. */
  program(program: EngineProgram): EngineProgram {
    return {
      ...program,
      objects: program.objects.map((definition) => this.#object(storedForm(definition))),
      sinks: program.sinks.map((definition) => this.#sink(definition)),
      run: (primitives) => this.#run(program, primitives),
    };
  }

  async #run(program: EngineProgram, primitives: ExecutionPrimitives): ReturnType<EngineProgram["run"]> {
    const life = new Life();
    this.#executions.add(life);
    const work = this.#lives.run(life, () => program.run(this.#primitives(life, primitives)));
    try {
      return await life.rejectOnDeath(work);
    } finally {
      this.#executions.delete(life);
    }
  }

  #object(definition: ObjectDefinition): ObjectDefinition {
    const crashingEngine = (method: ObjectMethod): ObjectMethod => {
      const retried = (object: ObjectContext, argument: Json): Json => {
        const attempt = new Try(object);
        for (;;) {
          try {
            const reply = this.#lives.run(new Life(), () => method(attempt, argument));
            attempt.commit();
            return reply;
          } catch (error) {
            if (!(error instanceof Crash)) throw error;
            attempt.restart();
          }
        }
      };
      return retried;
    };
    const methods = Object.entries(definition.methods).map(([name, method]) => [
      name,
      crashingEngine(method),
    ]);
    return { ...definition, methods: Object.fromEntries(methods) };
  }

  #sink(definition: SinkDefinition): SinkDefinition {
    return {
      type: definition.type,
      take: (key, argument, ask) =>
        this.#lives.run(new Life(), () =>
          definition.take(key, argument, (...call) => this.survive(ask(...call))),
        ),
    };
  }

  #primitives(life: Life, inner: ExecutionPrimitives): ExecutionPrimitives {
    const living = <Argument extends readonly unknown[]>(
      issue: (...argument: Argument) => Operation,
    ): ((...argument: Argument) => Operation) => {
      return (...argument) => {
        life.check();
        return issue(...argument);
      };
    };
    const { runId, continuation } = inner.launch;
    const key = `${runId}/${continuation}`;
    let place = 0;
    return delegatePrimitives(inner, {
      keepsReferences: false,
      callUnjournaled: (to, method, argument) =>
        life.isOver ? forever() : life.survive(inner.callUnjournaled(to, method, argument)),
      step: living((name, run) => this.#step(life, inner, { key, place: place++, name, run })),
      call: living((to, method, argument) => inner.call(to, method, argument)),
      wake: living((name) => inner.wake(name)),
      sleepUntil: living((at) => inner.sleepUntil(at)),
      waitForCancel: living(() => inner.waitForCancel()),
      race: (open) => (life.isOver ? forever() : life.survive(inner.race(open))),
      flushMicrotasks: () => (life.isOver ? forever() : life.survive(inner.flushMicrotasks())),
    });
  }

  /** The engine below sees one step that takes long; its closures come and go here. */
  #step(
    life: Life,
    inner: ExecutionPrimitives,
    asked: {
      readonly key: string;
      readonly place: number;
      readonly name: string;
      readonly run: (io: StepIo) => Promise<Json>;
    },
  ): Operation {
    const { key, place, name, run } = asked;
    const steps = this.#steps.get(key) ?? [];
    this.#steps.set(key, steps);
    const begin = (step: BegunStep, io: StepIo): void => {
      const end = (settle: () => void): void => {
        // The result of a dead execution's closure is dropped.
        if (life.isOver || step.life !== life) return;
        step.hasEnded = true;
        settle();
      };
      const attempt = { step: `${key}/${name}`, id: this.#uuid(), life };
      const { epoch } = inner;
      const made = this.#attempts.run(attempt, () =>
        run(this.#io(life, step, { call: io.call, epoch, id: attempt.id })),
      );
      made.then(
        (value) =>
          end(() => {
            this.onJournaled(attempt.step, value);
            step.journal.resolve(value);
          }),
        (error: unknown) => end(() => step.journal.reject(error)),
      );
    };
    const known = steps[place];
    const operation = inner.step(name, (given) => {
      const step: BegunStep = {
        life,
        stop: new AbortController(),
        hasEnded: false,
        journal: Promise.withResolvers(),
      };
      steps[place] = step;
      given.signal.addEventListener("abort", () => step.stop.abort(given.signal.reason));
      begin(step, given);
      return step.journal.promise;
    });
    if (known && !known.hasEnded && known.life.isOver) {
      Object.assign(known, { life, stop: new AbortController() });
      begin(known, ioOf(inner));
    }
    const cancel = (reason: Error): void => steps[place]?.stop.abort(reason);
    return Object.assign(operation, { cancel });
  }

  #io(
    life: Life,
    { stop: { signal } }: BegunStep,
    io: Pick<StepIo, "call" | "epoch"> & { readonly id: string },
  ): StepIo {
    return {
      signal,
      attempt: io.id,
      epoch: io.epoch,
      call: (to, method, argument) => (life.isDead ? forever() : life.survive(io.call(to, method, argument))),
    };
  }
}

/** An execution that begins a lost step again has no closure of the engine's to get this from. */
const ioOf = (inner: ExecutionPrimitives): StepIo => ({
  signal: new AbortController().signal,
  attempt: "",
  epoch: inner.epoch,
  call: (to, method, argument) => inner.callUnjournaled(to, method, argument),
});

const forever = (): Promise<never> => new Promise(() => undefined);
