// The execution primitives of a run, on Restate.
//
// Job: map steps, calls, wake-ups, timers and races to operations of one Restate invocation. Neighbours: the driver
// uses them; run-host creates one instance per attempt; kept-steps runs the closures; call-batch joins the calls to the
// tree; step-results encodes results for the journal.
//
// Invariants:
// 1. Only `race` awaits Restate. Steps, calls and waits return an operation immediately.
// 2. Requests are issued in the order of the code: none depends on the speed of a key lookup or of a closure.
// 3. Everything that Restate gets is sealed. Bytes that a replay repeats have a deterministic seal.
// 4. While a closure runs, a timer keeps the connection active, so that the run can be woken and cancelled.
// 5. An attempt that is suspended or lost never settles: no code above it runs a `catch`.

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
  ReeveError,
  type RunLaunch,
  type StepIo,
  type Seal,
  TooLargeError,
} from "#kernel";
import { BusinessError, retry } from "../client/business-error.ts";
import type { CallSeals } from "../sealing/call-seals.ts";
import type { GroupedCalls } from "../client/grouped-calls.ts";
import type { StepLease } from "./in-flight-steps.ts";
import { type BegunCall, CallBatch } from "./call-batch.ts";
import { RestateOperation } from "./restate-operation.ts";
import { type MethodCall, sealCall, wakeSeal } from "../sealing/sealed-call.ts";
import { openJson, sealJson, findTooLarge } from "../sealing/sealed-serde.ts";
import type { ServiceNames } from "../service-names.ts";
import type { StepResult, StepResults } from "./step-results.ts";

/** Calls objects without the journal. */
export type Gate = Pick<GroupedCalls, "call" | "isRepeatable">;

/** The seals of a run. */
export interface RunSealing {
  /** The seal of values that are handed over once. */
  readonly steps: Seal;
  /** The seals of values that every replay hands over again. */
  readonly calls: CallSeals;
}

/** The {@link ExecutionPrimitives} of one attempt to execute a run, over a Restate invocation. */
export class RunPrimitives implements ExecutionPrimitives {
  readonly launch: RunLaunch;
  readonly epoch: Epoch;
  readonly keepsReferences = false;
  readonly canPause = true;
  readonly #restate: internal.ContextInternal;
  readonly #names: ServiceNames;
  readonly #sealing: RunSealing;
  readonly #ingress: Gate;
  readonly #held: StepLease;
  readonly #heartbeatMs: number;
  readonly #results: StepResults;
  readonly #goesOn: (pick: number) => boolean;
  readonly #giveUp: (reason: unknown) => Promise<never>;
  /**
   * Calls that wait for a key until the next pick: the time at which they are made must not depend on the speed of the
   * key source.
   */
  readonly #later: (() => Promise<unknown>)[] = [];
  readonly #batch: CallBatch | null;
  #heartbeat: RestateOperation | null = null;
  #steps = 0;
  #calls = 0;
  #picks = 0;

  constructor(fields: {
    readonly launch: RunLaunch;
    /** The method of the tree that batches the calls between two races. Null: each is made alone. */
    readonly batchMethod: string | null;
    readonly restate: Context;
    readonly names: ServiceNames;
    readonly sealing: RunSealing;
    readonly ingress: Gate;
    readonly held: StepLease;
    readonly results: StepResults;
    /** Must be shorter than the inactivity timeout. */
    readonly heartbeatMs: number;
    /** Called after each pick. If it returns false, running steps are journaled and the pick never ends. */
    readonly goesOn: (pick: number) => boolean;
    /** Ends the attempt, without notice to the code above. */
    readonly giveUp: (reason: unknown) => Promise<never>;
  }) {
    this.launch = fields.launch;
    this.#restate = fields.restate as internal.ContextInternal;
    this.#names = fields.names;
    this.#sealing = fields.sealing;
    this.#ingress = fields.ingress;
    this.#held = fields.held;
    // Restate exposes no number that orders the attempts of an invocation.
    this.epoch = { id: fields.held.id, order: null };
    this.#heartbeatMs = fields.heartbeatMs;
    this.#results = fields.results;
    this.#goesOn = fields.goesOn;
    this.#giveUp = fields.giveUp;
    this.#batch = fields.batchMethod === null ? null : new CallBatch(fields.batchMethod);
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
      const call: StepIo["call"] = async (to, method, argument) => {
        await this.#held.waitUntilHeld(step);
        const answer = await this.#ingress.call({ to, method, argument }, signal);
        await this.#held.waitUntilHeld(step);
        return answer;
      };
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
      abort: (reason) => {
        controller.abort(reason);
        this.#held.abortStep(step, reason);
      },
      acknowledge: () => this.#held.acknowledge(step),
    });
    const engine = this.#restate.run(name, action, { serde: plain.binary });
    return operation.begin(engine, steps, (bytes) => this.#results.read(bytes, this.#held.getResult(step)));
  }

  call(to: ObjectAddress, method: string, argument: Json): Operation {
    if (this.#ingress.isRepeatable({ to, method })) return this.#callRepeatable({ to, method, argument });
    const operation = new RestateOperation(this.isLive);
    const { calls } = this.#sealing;
    const { tree } = this.launch;
    if (this.#batch && to.type === tree.type && to.key === tree.key) {
      this.#batch.add({ operation, method, argument });
      return operation;
    }
    const place = this.#nextPlace();
    const make = (seal: Seal): Operation => {
      const begun = this.#begin({ to, method, argument }, seal);
      return begun instanceof TooLargeError
        ? operation.refuse(begun)
        : operation.begin(begun.engine, begun.reply, (bytes) => openJson(begun.reply, bytes));
    };
    if (calls.isOwn(to.key)) return make(calls.getOwnSeal(place));
    this.#later.push(() =>
      calls
        .getSeal(to.key, place)
        .then(make, (error: unknown) =>
          error instanceof KeyDestroyedError ? operation.refuse(error) : this.#giveUp(error),
        ),
    );
    return operation;
  }

  #nextPlace(): string {
    return `call/${this.#calls++}`;
  }

  /** Makes a call. Returns the seal that opens its reply, or the error if it cannot be made. */
  #begin(call: MethodCall, seal: Seal): BegunCall | TooLargeError {
    const { to, method } = call;
    const { parameter, reply } = sealCall(seal, call);
    const engine = (): RestatePromise<Uint8Array> =>
      this.#restate.genericCall({
        service: this.#names.object(to.type),
        key: to.key,
        method,
        parameter,
        inputSerde: plain.binary,
        outputSerde: plain.binary,
      });
    return findTooLarge(parameter) ?? { engine: engine(), reply };
  }

  /**
   * Makes an idempotent call over the ingress, inside a journaled step. The journal keeps the reply. A call whose reply
   * was lost is repeated.
   */
  #callRepeatable(call: MethodCall): Operation {
    const { steps } = this.#sealing;
    const action = async (): Promise<Uint8Array> => {
      try {
        return sealJson(steps, await this.#ingress.call(call));
      } catch (error) {
        if (!ReeveError.is(error) || error.retryable) return retry(error);
        throw BusinessError.toTerminal(error, steps);
      }
    };
    const engine = this.#restate.run(call.method, action, { serde: plain.binary });
    return new RestateOperation(this.isLive).begin(engine, steps, (bytes) => openJson(steps, bytes));
  }

  wake(name: string): Operation {
    const { steps } = this.#sealing;
    const seal = wakeSeal(steps, this.#restate.request().id, name);
    const read = (bytes: Uint8Array): Json => (bytes.length === 0 ? null : openJson(seal, bytes));
    return new RestateOperation(this.isLive).begin(this.#restate.signal(name, plain.binary), steps, read);
  }

  /** Sleeps. The journal keeps the time of the first execution: a replay computes another delay, which is ignored. */
  sleepUntil(at: number): Operation {
    return this.#watch(this.#restate.sleep(Math.max(0, Math.ceil(at - Date.now()))));
  }

  waitForCancel(): Operation {
    return this.#watch(this.#restate.cancellation());
  }

  /**
   * Races operations. When Restate suspends or loses this attempt, the race never settles: the driver and all user code
   * above it are garbage collected, and no `catch` runs.
   */
  async race(open: OpenOperations): Promise<Operation> {
    const { tree: to } = this.launch;
    this.#batch?.issue((method, argument) =>
      this.#begin({ to, method, argument }, this.#sealing.calls.getOwnSeal(this.#nextPlace())),
    );
    for (const call of this.#later.splice(0)) await call();
    const operations = [...open].map(toRestateOperation);
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

  /** Waits for the running steps. Requests nothing new from Restate: a replay would not. */
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

  /** Wraps a promise without content. */
  #watch(engine: RestatePromise<void>): RestateOperation {
    return new RestateOperation(this.isLive).begin(engine, this.#sealing.steps, () => null);
  }

  /**
   * Returns a timer that keeps Restate's connection active while a closure runs. After the inactivity timeout Restate
   * would send nothing until the closure ends, and a step of an hour could be neither woken nor cancelled.
   */
  #beat(): RestateOperation {
    if (this.#heartbeat === null || this.#heartbeat.outcome !== null)
      this.#heartbeat = this.#watch(this.#restate.sleep(this.#heartbeatMs));
    return this.#heartbeat;
  }
}

function toRestateOperation(operation: Operation): RestateOperation {
  if (operation instanceof RestateOperation) return operation;
  throw new TypeError("an operation of another engine");
}
