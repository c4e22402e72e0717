import { delegatePrimitives, TooManyStepsError, type Operation, type ExecutionPrimitives } from "#kernel";

/** Maximum number of journal entries. With more, a replay would take minutes. */
const maxEntries = 50_000;

/**
 * Counts the journal entries of one execution: steps, calls of the tree, waits and timers. A crash replays all of them,
 * so every kind counts.
 */
export class Journal {
  readonly #primitives: ExecutionPrimitives;
  #length = 0;

  constructor(primitives: ExecutionPrimitives) {
    this.#primitives = primitives;
  }

  /** Number of entries. The same on every replay. */
  get length(): number {
    return this.#length;
  }

  /**
   * Checks the number of entries. The driver itself does not check, because the run must end. @throws TooManyStepsError
   * once the journal is full.
   */
  check(): void {
    if (this.#length < maxEntries) return;
    throw new TooManyStepsError({ run: this.#primitives.launch.runId, limit: maxEntries });
  }

  /** The primitives of the execution, with each new entry counted. */
  get primitives(): ExecutionPrimitives {
    const inner = this.#primitives;
    const count = (operation: Operation): Operation => {
      this.#length += 1;
      return operation;
    };
    return delegatePrimitives(inner, {
      step: (name, run) => count(inner.step(name, run)),
      call: (to, method, argument) => count(inner.call(to, method, argument)),
      wake: (name) => count(inner.wake(name)),
      sleepUntil: (at) => count(inner.sleepUntil(at)),
      waitForCancel: () => count(inner.waitForCancel()),
    });
  }
}
