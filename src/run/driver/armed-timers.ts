import type { Operation, ExecutionPrimitives } from "#kernel";

/**
 * The timers of one execution. An engine cannot cancel a timer, so an armed timer that fires earlier is reused, and the
 * next one is armed then. So waits that end early do not leave one timer each.
 */
export class ArmedTimers {
  readonly #primitives: Pick<ExecutionPrimitives, "sleepUntil">;
  /** The latest first. */
  readonly #armed: { readonly at: number; readonly operation: Operation }[] = [];

  constructor(primitives: Pick<ExecutionPrimitives, "sleepUntil">) {
    this.#primitives = primitives;
  }

  /** Returns a timer that fires at that moment, or earlier. */
  arm(at: number): Operation {
    const earliest = this.#armed.at(-1);
    if (earliest && earliest.at <= at) return earliest.operation;
    const operation = this.#primitives.sleepUntil(at);
    this.#armed.push({ at, operation });
    return operation;
  }

  /** Removes the timer that has fired. Returns its time. Null if the operation is not the earliest timer. */
  take(operation: Operation): number | null {
    if (this.#armed.at(-1)?.operation !== operation) return null;
    return this.#armed.pop()?.at ?? null;
  }
}
