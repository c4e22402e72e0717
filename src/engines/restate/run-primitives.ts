import { randomUUID } from "node:crypto";
import { setImmediate as drained } from "node:timers/promises";
import { type Context, RestatePromise, type TerminalError, type internal } from "@restatedev/restate-sdk";
import type { Json, ObjectAddress, Operation, Outcome, Primitives, RunLaunch, StepIo } from "#kernel";
import { BusinessError, retry } from "./business-error.ts";
import type { Ingress } from "./ingress.ts";
import { jsonSerde } from "./json-serde.ts";
import type { StepHolder } from "./kept-steps.ts";
import type { ServiceNames } from "./service-names.ts";

/** Calls objects past the journal. */
export type Gate = Pick<Ingress, "call">;

interface Settled {
  readonly operation: RestateOperation;
  readonly outcome: Outcome;
}

/** An engine promise, kept where only {@link RunPrimitives.pick} awaits it. */
class RestateOperation implements Operation {
  outcome: Outcome | null = null;
  readonly settled: RestatePromise<Settled>;
  readonly #controller: AbortController | null;
  readonly #acknowledge: () => void;

  constructor(
    engine: RestatePromise<Json | void>,
    step: { readonly controller: AbortController; readonly acknowledge: () => void } | null = null,
  ) {
    this.settled = engine.map((value, failure) => ({ operation: this, outcome: outcomeOf(value, failure) }));
    this.#controller = step?.controller ?? null;
    this.#acknowledge = step?.acknowledge ?? (() => {});
  }

  get isStep(): boolean {
    return this.#controller !== null;
  }

  abort(reason: Error): void {
    if (this.outcome === null) this.#controller?.abort(reason);
  }

  settle(outcome: Outcome): void {
    this.outcome = outcome;
    this.#acknowledge();
  }
}

/** What one attempt to execute a run has: {@link Primitives} over a Restate invocation. */
export class RunPrimitives implements Primitives {
  readonly launch: RunLaunch;
  readonly epoch = nextEpoch();
  readonly canPause = true;
  readonly #restate: internal.ContextInternal;
  readonly #names: ServiceNames;
  readonly #ingress: Gate;
  readonly #held: StepHolder;
  readonly #heartbeatMs: number;
  readonly #goesOn: (pick: number) => boolean;
  #heartbeat: RestateOperation | null = null;
  #steps = 0;
  #picks = 0;

  constructor(fields: {
    readonly launch: RunLaunch;
    readonly restate: Context;
    readonly names: ServiceNames;
    readonly ingress: Gate;
    readonly held: StepHolder;
    /** Shorter than the inactivity timeout. */
    readonly heartbeatMs: number;
    /** Asked after each pick whether to go on; if not, the steps that run are journaled and the pick never ends. */
    readonly goesOn: (pick: number) => boolean;
  }) {
    this.launch = fields.launch;
    this.#restate = fields.restate as internal.ContextInternal;
    this.#names = fields.names;
    this.#ingress = fields.ingress;
    this.#held = fields.held;
    this.#heartbeatMs = fields.heartbeatMs;
    this.#goesOn = fields.goesOn;
  }

  get isLive(): boolean {
    return this.#restate.isProcessing();
  }

  now(): number {
    return Date.now();
  }

  direct(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    return this.#ingress.call(to, method, argument);
  }

  step(name: string, run: (io: StepIo) => Promise<Json>): Operation {
    const controller = new AbortController();
    const step = `${this.#steps++}:${name}`;
    const closure = (signal: AbortSignal): Promise<Json> =>
      run({
        signal,
        attempt: randomUUID(),
        call: (to, method, argument) => this.#ingress.call(to, method, argument, signal),
      });
    const engine = this.#restate.run(
      name,
      () => this.#held.run(step, controller.signal, closure).catch(retry),
      { serde: jsonSerde },
    );
    return new RestateOperation(engine, {
      controller,
      acknowledge: () => this.#held.acknowledge(step),
    });
  }

  call(to: ObjectAddress, method: string, argument: Json): Operation {
    return new RestateOperation(
      this.#restate.genericCall<Json, Json>({
        service: this.#names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: jsonSerde,
        outputSerde: jsonSerde,
      }),
    );
  }

  wake(name: string): Operation {
    return new RestateOperation(this.#restate.signal<Json>(name, jsonSerde));
  }

  /** The journal keeps the moment of the first execution: a replay computes another delay, which is ignored. */
  sleepUntil(at: number): Operation {
    return new RestateOperation(this.#restate.sleep(Math.max(0, Math.ceil(at - Date.now()))));
  }

  cancelled(): Operation {
    return new RestateOperation(this.#restate.cancellation());
  }

  /**
   * When Restate suspends or loses this attempt, the race never settles: the driver and all user code above it are
   * left behind for the garbage collector, and nobody's `catch` sees anything.
   */
  async pick(open: readonly Operation[]): Promise<Operation> {
    if (open.length === 0) throw new TypeError("nothing to pick from");
    const operations = open.map(own);
    if (operations.some(({ isStep }) => isStep)) operations.push(this.#beat());
    const { operation, outcome } = await RestatePromise.race(operations.map(({ settled }) => settled));
    operation.settle(outcome);
    if (operation === this.#heartbeat) return this.pick(open);
    this.#picks += 1;
    if (this.#goesOn(this.#picks)) return operation;
    await this.#journal(operations);
    return new Promise(() => {});
  }

  /** Waits for the steps that run. Asks nothing new of Restate: a replay would not. */
  async #journal(operations: readonly RestateOperation[]): Promise<void> {
    const steps = operations.filter(({ isStep, outcome }) => isStep && outcome === null);
    if (steps.length === 0) return;
    const { operation, outcome } = await RestatePromise.race(steps.map(({ settled }) => settled));
    operation.settle(outcome);
    return this.#journal(steps);
  }

  async drain(): Promise<void> {
    await drained();
  }

  /**
   * A timer that keeps Restate talking to us while a closure runs. After the inactivity timeout it would say no more
   * until the closure ends, and a step of an hour could be neither woken nor cancelled.
   */
  #beat(): RestateOperation {
    if (this.#heartbeat === null || this.#heartbeat.outcome !== null)
      this.#heartbeat = new RestateOperation(this.#restate.sleep(this.#heartbeatMs));
    return this.#heartbeat;
  }
}

function own(operation: Operation): RestateOperation {
  if (operation instanceof RestateOperation) return operation;
  throw new TypeError("an operation of another engine");
}

function outcomeOf(value: Json | void, failure: TerminalError | undefined): Outcome {
  return failure === undefined
    ? { ok: true, value: value ?? null }
    : { ok: false, error: BusinessError.data(failure.message) };
}

let lastStart = 0;

/** Start times order executions across workers as well as their clocks agree; here they are never the same twice. */
function nextEpoch(): string {
  lastStart = Math.max(Date.now(), lastStart + 1);
  return `${String(lastStart).padStart(15, "0")}-${Math.random().toString(36).slice(2, 10)}`;
}
