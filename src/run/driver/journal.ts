import { delegatePrimitives, TooManyStepsError, type Operation, type ExecutionPrimitives } from "#kernel";

/** From here on a replay would take minutes. */
const maxEntries = 50_000;

/**
 * Counts what one execution has put into its journal: steps, calls of the tree, waits and timers. Whatever it is, a crash
 * replays it, so every kind counts.
 */
export class Journal {
  readonly #primitives: ExecutionPrimitives;
  #length = 0;

  constructor(primitives: ExecutionPrimitives) {
    this.#primitives = primitives;
  }

  /** How many entries there are. The same on every replay. */
  get length(): number {
    return this.#length;
  }

  /** @throws TooManyStepsError once the journal is full. The driver itself goes on: the run must end. */
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
      cancelled: () => count(inner.cancelled()),
    });
  }
}
