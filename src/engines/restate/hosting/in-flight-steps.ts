import { randomUUID } from "node:crypto";
import type { StepResult } from "./step-results.ts";

/*
 * Kept steps: a closure that runs on this worker survives the loss of its connection to the Restate server.
 *
 * Neighbours: `run-host.ts` creates a holder for each attempt of an execution, and `run-primitives.ts` runs its
 * closures through it. `step-results.ts` encodes the result of a closure.
 *
 * 1. While a closure runs, or its result is not known to be journaled, no second one is started here for the same step.
 * 2. A later attempt adopts the closures that it requests. The others are aborted when it cancels them, when the execution
 *    ends, or when the attempt that began them has been lost for `stepRetentionMs`.
 * 3. A closure that threw has no result: the next attempt runs it again.
 * 4. While its attempt is lost, a closure makes no call to an object, and gets no answer of one. So it begins nothing
 *    new (a model call, an effect) that another process, which has the execution by then, begins as well.
 * 5. This only saves calls that cost money. Correctness relies on attempts, reservations and idempotency keys: another
 *    process runs the closure again.
 */

interface InFlightStep {
  readonly controller: AbortController;
  readonly result: Promise<StepResult>;
  /** Null until it is available. */
  known: StepResult | null;
  /** The attempt that waits for this closure now. */
  holder: StepLease;
  /** Resolves when a later attempt adopts it. Null: nothing waits for that. */
  adoption: PromiseWithResolvers<void> | null;
}

/**
 * The closures that run, or have ended but whose result is not yet known to be journaled. When an execution is lost
 * (the server died, another closure of the run threw) and returns to this process, it finds them here instead of
 * running them a second time.
 */
export class InFlightSteps {
  readonly #executions = new Map<string, Map<string, InFlightStep>>();
  readonly #stepRetentionMs: number;

  constructor(options: { readonly stepRetentionMs: number }) {
    this.#stepRetentionMs = options.stepRetentionMs;
  }

  /** Number of kept closures. */
  get size(): number {
    let size = 0;
    for (const steps of this.#executions.values()) size += steps.size;
    return size;
  }

  /** Creates the holder through which one attempt of an execution runs its closures. */
  attempt(execution: string): StepLease {
    const steps = this.#executions.get(execution) ?? new Map<string, InFlightStep>();
    return new StepLease(steps, this.#stepRetentionMs, () => {
      if (steps.size > 0) this.#executions.set(execution, steps);
      else if (this.#executions.get(execution) === steps) this.#executions.delete(execution);
    });
  }

  /** Aborts every closure. */
  close(): void {
    for (const steps of this.#executions.values())
      for (const step of steps.values()) step.controller.abort(createAbandonedError());
    this.#executions.clear();
  }
}

/** The closures of one execution, as one attempt sees them. A later attempt adopts those it requests. */
export class StepLease {
  /** Id of the attempt. */
  readonly id = randomUUID();
  readonly #steps: Map<string, InFlightStep>;
  readonly #stepRetentionMs: number;
  readonly #onChange: () => void;
  #whenIdle: readonly (() => void)[] = [];
  #isLost = false;

  constructor(steps: Map<string, InFlightStep>, stepRetentionMs: number, onChange: () => void) {
    this.#steps = steps;
    this.#stepRetentionMs = stepRetentionMs;
    this.#onChange = onChange;
  }

  /** Runs a closure, or joins the one that an earlier attempt has begun here. */
  async run(
    key: string,
    signal: AbortSignal,
    closure: (signal: AbortSignal) => Promise<StepResult>,
  ): Promise<StepResult> {
    const controller = this.#steps.get(key)?.controller ?? new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    const step = this.#steps.get(key) ?? this.#begin(key, controller, closure);
    step.holder = this;
    step.adoption?.resolve();
    step.adoption = null;
    return step.result;
  }

  /**
   * Waits until an attempt that is not lost waits for a closure. Null: one does now. @throws the reason with which the
   * closure is aborted.
   */
  waitUntilHeld(key: string): Promise<void> | null {
    const step = this.#steps.get(key);
    if (!step || !step.holder.#isLost || step.controller.signal.aborted) return null;
    if (step.adoption) return step.adoption.promise;
    const adoption = Promise.withResolvers<void>();
    const { signal } = step.controller;
    signal.addEventListener("abort", () => adoption.reject(signal.reason), { once: true });
    step.adoption = adoption;
    return adoption.promise;
  }

  /** Returns the id of the attempt that waits for a closure: this one, or the one that has adopted the closure. */
  holderOf(key: string): string {
    return this.#steps.get(key)?.holder.id ?? this.id;
  }

  /** Returns the result of a closure here, until it is acknowledged. */
  getResult(key: string): StepResult | null {
    return this.#steps.get(key)?.known ?? null;
  }

  /** Removes a step whose result is journaled. */
  acknowledge(key: string): void {
    this.#steps.delete(key);
    this.#onChange();
    if (this.#listHeld().length > 0) return;
    for (const resolve of this.#whenIdle) resolve();
    this.#whenIdle = [];
  }

  /** Resolves when this attempt runs no closure and all results are journaled. */
  async waitForIdle(): Promise<void> {
    if (this.#listHeld().length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle = [...this.#whenIdle, resolve];
    await promise;
  }

  /** Handles the end of an attempt whose execution continues: it may return here, or move elsewhere. */
  markLost(): void {
    this.#isLost = true;
    if (this.#listHeld().length > 0) setTimeout(() => this.abortAll(), this.#stepRetentionMs).unref();
  }

  /**
   * Aborts the closure of a step, also one that an earlier attempt has begun and this one has not adopted: an operation
   * may be cancelled before the engine requests its closure again.
   */
  abortStep(key: string, reason: Error): void {
    if (!this.#isLost) this.#steps.get(key)?.controller.abort(reason);
  }

  /** Aborts everything that still runs for this attempt: it will not be requested again. */
  abortAll(): void {
    this.#abort(this.#listHeld());
  }

  /** Aborts everything that still runs for the execution, whichever attempt has begun it: the execution is over. */
  endExecution(): void {
    if (!this.#isLost) this.#abort([...this.#steps]);
  }

  #abort(steps: readonly (readonly [string, InFlightStep])[]): void {
    for (const [key, step] of steps) {
      this.acknowledge(key);
      step.controller.abort(createAbandonedError());
    }
  }

  #begin(
    key: string,
    controller: AbortController,
    closure: (signal: AbortSignal) => Promise<StepResult>,
  ): InFlightStep {
    const result = closure(controller.signal);
    const step: InFlightStep = { controller, result, known: null, holder: this, adoption: null };
    this.#steps.set(key, step);
    this.#onChange();
    // A closure that threw has no result: the next attempt runs it again.
    result.then(
      (known) => (step.known = known),
      () => {
        if (this.#steps.get(key) === step) this.acknowledge(key);
      },
    );
    return step;
  }

  #listHeld(): readonly (readonly [string, InFlightStep])[] {
    return [...this.#steps].filter(([, step]) => step.holder === this);
  }
}

function createAbandonedError(): Error {
  return new Error("the execution of this step has ended");
}
