import { randomUUID } from "node:crypto";
import { setImmediate as drained } from "node:timers/promises";
import { type Context, RestatePromise, type internal, serde as plain } from "@restatedev/restate-sdk";
import {
  type Epoch,
  type Json,
  KeyDestroyedError,
  type ObjectAddress,
  type OpenOperations,
  type Operation,
  type ExecutionPrimitives,
  type RunLaunch,
  type StepIo,
  type Seal,
} from "#kernel";
import { BusinessError, retry } from "../client/business-error.ts";
import type { CallSeals } from "../sealing/call-seals.ts";
import type { Ingress } from "../client/ingress.ts";
import type { StepHolder } from "./kept-steps.ts";
import { RestateOperation } from "./restate-operation.ts";
import { sealCall } from "../sealing/sealed-call.ts";
import { opened, tooLarge } from "../sealing/sealed-serde.ts";
import type { ServiceNames } from "../service-names.ts";
import type { StepResult, StepResults } from "./step-results.ts";

/** Calls objects past the journal. */
export type Gate = Pick<Ingress, "call">;

/** What a run seals with. */
export interface RunSealing {
  /** What is handed over once. */
  readonly steps: Seal;
  /** What every replay hands over again. */
  readonly calls: CallSeals;
}

/** The {@link ExecutionPrimitives} of one attempt to execute a run, over a Restate invocation. */
export class RunPrimitives implements ExecutionPrimitives {
  readonly launch: RunLaunch;
  readonly epoch: Epoch;
  readonly canPause = true;
  readonly #restate: internal.ContextInternal;
  readonly #names: ServiceNames;
  readonly #sealing: RunSealing;
  readonly #ingress: Gate;
  readonly #held: StepHolder;
  readonly #heartbeatMs: number;
  readonly #results: StepResults;
  readonly #goesOn: (pick: number) => boolean;
  readonly #giveUp: (reason: unknown) => Promise<never>;
  /** Calls that wait for a key until the next pick: when they are made must not depend on how fast it comes. */
  readonly #later: (() => Promise<unknown>)[] = [];
  #heartbeat: RestateOperation | null = null;
  #steps = 0;
  #calls = 0;
  #picks = 0;

  constructor(fields: {
    readonly launch: RunLaunch;
    readonly restate: Context;
    readonly names: ServiceNames;
    readonly sealing: RunSealing;
    readonly ingress: Gate;
    readonly held: StepHolder;
    readonly results: StepResults;
    /** Shorter than the inactivity timeout. */
    readonly heartbeatMs: number;
    /** Asked after each pick whether to go on; if not, the steps that run are journaled and the pick never ends. */
    readonly goesOn: (pick: number) => boolean;
    /** Ends the attempt, without any code above noticing. */
    readonly giveUp: (reason: unknown) => Promise<never>;
  }) {
    this.launch = fields.launch;
    this.#restate = fields.restate as internal.ContextInternal;
    this.#names = fields.names;
    this.#sealing = fields.sealing;
    this.#ingress = fields.ingress;
    this.#held = fields.held;
    // Restate shows no number that orders the attempts of an invocation.
    this.epoch = { id: fields.held.id, order: null };
    this.#heartbeatMs = fields.heartbeatMs;
    this.#results = fields.results;
    this.#goesOn = fields.goesOn;
    this.#giveUp = fields.giveUp;
  }

  get isLive(): boolean {
    return this.#restate.isProcessing();
  }

  now(): number {
    return Date.now();
  }

  callUnjournaled(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    return this.#ingress.call({ to, method, argument });
  }

  step(name: string, run: (io: StepIo) => Promise<Json>): Operation {
    const controller = new AbortController();
    const step = `${this.#steps++}:${name}`;
    const { steps } = this.#sealing;
    const closure = async (signal: AbortSignal): Promise<StepResult> => {
      const attempt = randomUUID();
      const call: StepIo["call"] = (to, method, argument) =>
        this.#ingress.call({ to, method, argument }, signal);
      const holder = (): string => this.#held.holderOf(step);
      const io: StepIo = {
        signal,
        attempt,
        call,
        get epoch() {
          return { id: holder(), order: null };
        },
      };
      return this.#results.keep(await run(io));
    };
    const action = async (): Promise<Uint8Array> => {
      const result = await this.#held.run(step, controller.signal, closure).catch(retry);
      if ("refused" in result) throw BusinessError.toTerminal(result.refused, steps);
      return result.journaled;
    };
    const operation = new RestateOperation(this.isLive, {
      controller,
      acknowledge: () => this.#held.acknowledge(step),
    });
    const engine = this.#restate.run(name, action, { serde: plain.binary });
    return operation.begin(engine, steps, (bytes) => this.#results.read(bytes, this.#held.known(step)));
  }

  call(to: ObjectAddress, method: string, argument: Json): Operation {
    const operation = new RestateOperation(this.isLive);
    const { calls } = this.#sealing;
    const place = `call/${this.#calls++}`;
    const make = (seal: Seal): Operation => {
      const { parameter, reply } = sealCall(seal, { to, method, argument });
      const read = (bytes: Uint8Array): Json => opened(reply, bytes);
      const problem = tooLarge(parameter);
      if (problem) return operation.refuse(problem);
      const engine = this.#restate.genericCall({
        service: this.#names.object(to.type),
        key: to.key,
        method,
        parameter,
        inputSerde: plain.binary,
        outputSerde: plain.binary,
      });
      return operation.begin(engine, reply, read);
    };
    if (calls.isOwn(to.key)) return make(calls.ownAt(place));
    this.#later.push(() =>
      calls
        .at(to.key, place)
        .then(make, (error: unknown) =>
          error instanceof KeyDestroyedError ? operation.refuse(error) : this.#giveUp(error),
        ),
    );
    return operation;
  }

  wake(name: string): Operation {
    return this.#begin(this.#restate.signal(name, plain.empty));
  }

  /** The journal keeps the moment of the first execution: a replay computes another delay, which is ignored. */
  sleepUntil(at: number): Operation {
    return this.#begin(this.#restate.sleep(Math.max(0, Math.ceil(at - Date.now()))));
  }

  cancelled(): Operation {
    return this.#begin(this.#restate.cancellation());
  }

  /**
   * When Restate suspends or loses this attempt, the race never settles: the driver and all user code above it are
   * left behind for the garbage collector, and nobody's `catch` sees anything.
   */
  async race(open: OpenOperations): Promise<Operation> {
    for (const call of this.#later.splice(0)) await call();
    const operations = [...open].map(own);
    if (operations.length === 0) throw new TypeError("nothing to race");
    if (operations.some(({ isStep }) => isStep)) operations.push(this.#beat());
    const { operation, outcome } = await RestatePromise.race(operations.map(({ arrival }) => arrival));
    operation.settle(await outcome().catch(this.#giveUp));
    if (operation === this.#heartbeat) return this.race(open);
    this.#picks += 1;
    if (this.#goesOn(this.#picks)) return operation;
    await this.#journal(operations);
    return new Promise(() => {});
  }

  /** Waits for the steps that run. Asks nothing new of Restate: a replay would not. */
  async #journal(operations: readonly RestateOperation[]): Promise<void> {
    const steps = operations.filter(({ isStep, outcome }) => isStep && outcome === null);
    if (steps.length === 0) return;
    const { operation, outcome } = await RestatePromise.race(steps.map(({ arrival }) => arrival));
    operation.settle(await outcome().catch(this.#giveUp));
    return this.#journal(steps);
  }

  async flushMicrotasks(): Promise<void> {
    await drained();
  }

  /** Something without content. */
  #begin(engine: RestatePromise<void>): RestateOperation {
    return new RestateOperation(this.isLive).begin(engine, this.#sealing.steps, () => null);
  }

  /**
   * A timer that keeps Restate talking to us while a closure runs. After the inactivity timeout it would say no more
   * until the closure ends, and a step of an hour could be neither woken nor cancelled.
   */
  #beat(): RestateOperation {
    if (this.#heartbeat === null || this.#heartbeat.outcome !== null)
      this.#heartbeat = this.#begin(this.#restate.sleep(this.#heartbeatMs));
    return this.#heartbeat;
  }
}

function own(operation: Operation): RestateOperation {
  if (operation instanceof RestateOperation) return operation;
  throw new TypeError("an operation of another engine");
}
