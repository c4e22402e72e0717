import { randomUUID } from "node:crypto";
import type { StepResult } from "./step-results.ts";

/*
 * Kept steps: a closure that runs on this worker survives the loss of its connection to the Restate server.
 *
 * Neighbours: `run-host.ts` makes a holder for each attempt of an execution, `run-primitives.ts` runs its closures through
 * that. `step-results.ts` says what a closure came to.
 *
 * 1. While a closure runs, or its result is not known to be journaled, no second one is begun here for the same step.
 * 2. A later attempt takes over the closures that it asks for. Those that it does not ask for are aborted when the attempt
 *    that began them has been lost for `keptMs`.
 * 3. A closure that threw has no result: the next attempt runs it again.
 * 4. This is a convenience for calls that cost money. Correctness rests on attempts, reservations and idempotency keys: in
 *    another process the closure is run again.
 */

interface KeptStep {
  readonly controller: AbortController;
  readonly result: Promise<StepResult>;
  /** Once it is there. */
  known: StepResult | null;
  /** The attempt that counts on this closure now. */
  holder: StepHolder;
}

/**
 * The closures that run, or have ended but whose result is not yet known to be journaled. When an execution is lost
 * (the server died, another closure of the run threw) and comes back to this process, it finds them here instead of
 * running them a second time.
 */
export class KeptSteps {
  readonly #executions = new Map<string, Map<string, KeptStep>>();
  readonly #keptMs: number;

  constructor(options: { readonly keptMs: number }) {
    this.#keptMs = options.keptMs;
  }

  /** How many closures are kept. */
  get size(): number {
    let size = 0;
    for (const steps of this.#executions.values()) size += steps.size;
    return size;
  }

  /** What one attempt of an execution runs its closures through. */
  attempt(execution: string): StepHolder {
    const steps = this.#executions.get(execution) ?? new Map<string, KeptStep>();
    return new StepHolder(steps, this.#keptMs, () => {
      if (steps.size > 0) this.#executions.set(execution, steps);
      else if (this.#executions.get(execution) === steps) this.#executions.delete(execution);
    });
  }

  /** Aborts every closure. */
  close(): void {
    for (const steps of this.#executions.values())
      for (const step of steps.values()) step.controller.abort(abandoned());
    this.#executions.clear();
  }
}

/** The closures of one execution, as one attempt sees them. A later attempt takes over those it asks for. */
export class StepHolder {
  /** Names the attempt. */
  readonly id = randomUUID();
  readonly #steps: Map<string, KeptStep>;
  readonly #keptMs: number;
  readonly #changed: () => void;
  #whenIdle: readonly (() => void)[] = [];

  constructor(steps: Map<string, KeptStep>, keptMs: number, changed: () => void) {
    this.#steps = steps;
    this.#keptMs = keptMs;
    this.#changed = changed;
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
    return step.result;
  }

  /** The id of the attempt that waits for a closure: this one, or the one that has taken the closure over. */
  holderOf(key: string): string {
    return this.#steps.get(key)?.holder.id ?? this.id;
  }

  /** What a closure has come to here, until it is acknowledged. */
  known(key: string): StepResult | null {
    return this.#steps.get(key)?.known ?? null;
  }

  /** The result of this step is journaled. */
  acknowledge(key: string): void {
    this.#steps.delete(key);
    this.#changed();
    if (this.#held().length > 0) return;
    for (const resolve of this.#whenIdle) resolve();
    this.#whenIdle = [];
  }

  /** Resolves when this attempt runs no closure and the results of all are journaled. */
  async idle(): Promise<void> {
    if (this.#held().length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle = [...this.#whenIdle, resolve];
    await promise;
  }

  /** The attempt is over but the execution is not: it may come back here, or go elsewhere. */
  lost(): void {
    if (this.#held().length > 0) setTimeout(() => this.ended(), this.#keptMs).unref();
  }

  /** Nobody will ask again: whatever still runs for this attempt is aborted. */
  ended(): void {
    for (const [key, step] of this.#held()) {
      this.acknowledge(key);
      step.controller.abort(abandoned());
    }
  }

  #begin(
    key: string,
    controller: AbortController,
    closure: (signal: AbortSignal) => Promise<StepResult>,
  ): KeptStep {
    const step: KeptStep = { controller, result: closure(controller.signal), known: null, holder: this };
    this.#steps.set(key, step);
    this.#changed();
    // A closure that threw has no result: the next attempt runs it anew.
    step.result.then(
      (result) => (step.known = result),
      () => {
        if (this.#steps.get(key) === step) this.acknowledge(key);
      },
    );
    return step;
  }

  #held(): readonly (readonly [string, KeptStep])[] {
    return [...this.#steps].filter(([, step]) => step.holder === this);
  }
}

function abandoned(): Error {
  return new Error("the execution of this step is gone");
}
