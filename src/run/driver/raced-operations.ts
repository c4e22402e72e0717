import type { OpenOperations, Operation } from "#kernel";
import type { Effects } from "./effects.ts";

/**
 * Everything that can happen next in one execution, effects first. It is a view, not a copy, so a turn costs the same
 * for any number of open operations.
 */
export class RacedOperations implements OpenOperations {
  wake: Operation | null = null;
  timer: Operation | null = null;
  cancelled: Operation | null;
  readonly #effects: Effects;

  constructor(effects: Effects, cancelled: Operation) {
    this.#effects = effects;
    this.cancelled = cancelled;
  }

  has(operation: Operation): boolean {
    const { wake, timer, cancelled } = this;
    return (
      operation === wake || operation === timer || operation === cancelled || this.#effects.has(operation)
    );
  }

  *[Symbol.iterator](): Generator<Operation> {
    yield* this.#effects.open;
    if (this.wake) yield this.wake;
    if (this.timer) yield this.timer;
    if (this.cancelled) yield this.cancelled;
  }
}
