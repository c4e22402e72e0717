import type { Operation, ExecutionPrimitives } from "#kernel";

/**
 * The timers of one execution. An engine cannot take a timer back, so one that is armed already serves if it fires early:
 * then the next is armed. Waits that end early leave no timer each.
 */
export class ArmedTimers {
  readonly #primitives: Pick<ExecutionPrimitives, "sleepUntil">;
  /** The latest first. */
  readonly #armed: { readonly at: number; readonly operation: Operation }[] = [];

  constructor(primitives: Pick<ExecutionPrimitives, "sleepUntil">) {
    this.#primitives = primitives;
  }

  /** A timer that fires at that moment, or before. */
  arm(at: number): Operation {
    const earliest = this.#armed.at(-1);
    if (earliest && earliest.at <= at) return earliest.operation;
    const operation = this.#primitives.sleepUntil(at);
    this.#armed.push({ at, operation });
    return operation;
  }

  /** Takes out the timer that has fired. Returns its moment; null if the operation is not the earliest timer. */
  take(operation: Operation): number | null {
    if (this.#armed.at(-1)?.operation !== operation) return null;
    return this.#armed.pop()?.at ?? null;
  }
}
